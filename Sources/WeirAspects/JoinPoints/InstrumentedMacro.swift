// The declarations of the macros for join points: @Instrumented for a type, @JoinPoint for a method,
// @FunctionJoinPoint for a function at file scope.
//
// Only with the trait Macros, as EventMacro.swift. @JoinPoint needs names of any kind, since methods are told apart by
// their labels, and the compiler refuses such a macro at file scope: so functions there have one of their own.

#if Macros
  /// Makes the methods of a type join points, to which hooks can be attached, without a word in the methods.
  ///
  /// ```swift
  /// import Weir
  /// import WeirAspects
  ///
  /// @Instrumented
  /// class ItemPage {
  ///   func like(_ item: Item, at place: Int) throws -> Bool { … }
  ///   func open(url: String) async { … }
  /// }
  ///
  /// Elsewhere:
  /// let hook = ItemPage.JoinPoints.like.after(.everything) { page, call, outcome in
  ///   print(call.item, call.place, outcome)
  /// }
  /// ```
  ///
  /// Each method of the type's body gets ``JoinPoint(_:root:omit:)``, except private ones, operators and those without
  /// a body; initialisers, accessors and subscripts are passed over. A private method is one as well if it has
  /// `@JoinPoint` itself or is named in `only`. Methods in extensions are not seen from here: put `@JoinPoint` on them.
  ///
  /// **Names.** The type's nested enum `JoinPoints` has a property for each method, as visible as the method: its base
  /// name, or, where several methods have that, the base name with the labels, `likeAt` for `like(_:at:)` beside
  /// `like(_:)`. Where two are still the same the macro asks for a name: `@JoinPoint("likeAll")`. A descriptor's type
  /// is
  /// ``JoinPoint``, with the parameters as a tuple.
  ///
  /// **Classes.** An override belongs to the join point of the method that it overrides, so it has no name here: attach
  /// to `Page.JoinPoints.like`, with ``Hook/Target`` for one class. Put `@Instrumented` on the subclasses, too: an
  /// override that is not instrumented and does not call `super` is not heard of. A subclass whose methods are all
  /// overrides has no `JoinPoints` of its own, and `Child.JoinPoints` is that of the class above. An override of a
  /// method that is no join point in the class above needs `@JoinPoint(root: true)`, or `except`. A method that has the
  /// base name and the labels of one above without overriding it needs a name: `@JoinPoint("likeText")`.
  ///
  /// **Cost.** A call to which nothing is attached: a load and a branch, about a nanosecond. Each method's body is
  /// compiled with four lines more, and the type has two properties for it.
  ///
  /// Refused with a message that says what to do: generic types, protocols and extensions, names that no method has,
  /// and what ``JoinPoint(_:root:omit:)`` refuses.
  ///
  /// - Parameters:
  ///   - only: The methods to instrument, by base name, `"like"`, or in full, `"open(url:)"`. All others are left alone.
  ///   - except: Methods to leave alone, named in the same way.
  @attached(memberAttribute)
  @attached(member, names: named(JoinPoints))
  public macro Instrumented(only: [String] = [], except: [String] = []) =
    #externalMacro(module: "WeirMacrosPlugin", type: "InstrumentedMacro")

  /// Makes a method a join point: a static property beside it, and a body that tells it of its calls.
  ///
  /// ```swift
  /// class ItemPage {
  ///   @JoinPoint
  ///   func like(_ item: Item, at place: Int) throws -> Bool { … }
  /// }
  ///
  /// let hook = ItemPage.likeJoinPoint.before(.everything) { page, call in print(call.item, call.place) }
  /// ```
  ///
  /// In a type with ``Instrumented(only:except:)`` the descriptor is `ItemPage.JoinPoints.like`; in any other, and in
  /// an extension, `ItemPage.likeJoinPoint`.
  ///
  /// **What reaches the advice.** `self` (of a static or class method its type), the parameters by the names that they
  /// have in the body, as they are on entry, and the result. Of type `Any` is what only the function can name: what
  /// mentions a generic parameter, and what is `some P`. `Self` arrives as the type that has the method, a variadic
  /// parameter as an array. Left out are parameters that can't outlive the call or can't be copied: functions that do
  /// not escape, autoclosures, those that are `borrowing`, `consuming`, `sending` or `isolated`, spans, parameter
  /// packs, and those without a name. A result that is `sending` or can't be copied arrives as `Void`. A macro does not
  /// see what is behind a name: leave out by hand, with `omit`, a function that is hidden in a typealias, and a type
  /// that can't be copied.
  ///
  /// **The body** stays as it is, except that each result is handed on as it is returned. Messages of the compiler
  /// point at the source, as do stack traces. A `#line` in the body is the line that it stands in; but where it is the
  /// default of a parameter, as in many loggers, a call in the body gives the line of the attribute. Around a body that
  /// has a closure with a capture list, `[weak self]`, goes a local function, for the compiler refuses such a closure
  /// otherwise. A body that a result builder reads can't have a join point: an attribute whose name ends in `Builder`
  /// is refused.
  ///
  /// **An override** has no descriptor: its calls belong to the join point of the method that it overrides, which the
  /// compiler finds by the base name and the labels. If that has a name, or omits parameters, the override needs the
  /// same.
  ///
  /// **Cost.** As ``Instrumented(only:except:)``.
  ///
  /// Refused with a message that says what to do: methods of generic types and of types that can't be copied, of
  /// protocols, local functions, operators, `consuming` and `borrowing` methods, `@inlinable` ones, unavailable ones,
  /// initialisers, accessors, subscripts, and a capture list where a method rethrows.
  ///
  /// - Parameters:
  ///   - name: The join point's name, `JoinPoints.name` or `nameJoinPoint`. The method's base name unless given.
  ///   - root: An override that is a join point of its own, because the class above is not instrumented.
  ///   - omit: Parameters to leave out, by the names that the body uses.
  @attached(body)
  @attached(peer, names: arbitrary)
  public macro JoinPoint(_ name: String? = nil, root: Bool = false, omit: [String] = []) =
    #externalMacro(module: "WeirMacrosPlugin", type: "JoinPointMacro")

  /// Makes a function at file scope a join point, `chargeJoinPoint` of a function `charge`.
  ///
  /// ```swift
  /// @FunctionJoinPoint
  /// func charge(order: Order) async throws -> Receipt { … }
  ///
  /// let hook = chargeJoinPoint.after(.everything) { _, call, outcome in print(call.order, outcome) }
  /// ```
  ///
  /// Otherwise as ``JoinPoint(_:root:omit:)``, with `Void` for the owner. Of functions with one base name in one module
  /// only one can have it, for the descriptor's name follows from the base name alone.
  ///
  /// - Parameter omit: Parameters to leave out, by the names that the body uses.
  @attached(body)
  @attached(peer, names: suffixed(JoinPoint), suffixed(JoinPointRecord))
  public macro FunctionJoinPoint(omit: [String] = []) =
    #externalMacro(module: "WeirMacrosPlugin", type: "FunctionJoinPointMacro")
#endif
