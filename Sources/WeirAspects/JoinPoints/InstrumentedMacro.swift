// The declarations of the macros for join points: @Instrumented for a type, @JoinPoint for a method, an initialiser or
// an accessor, @FunctionJoinPoint for a function at file scope.
//
// Available with the trait Macros only, like EventMacro.swift. @JoinPoint needs arbitrary names, because labels
// distinguish methods, and @Instrumented needs them for accessors. The compiler refuses a macro with arbitrary names at
// file scope, so functions have their own.

#if Macros
  /// Makes the methods of a type join points, to which hooks can be attached. The methods' own code does not change.
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
  /// // Elsewhere:
  /// let hook = ItemPage.JoinPoints.like.after(.everything) { page, call, outcome in
  ///   print(call.item, call.place, outcome)
  /// }
  /// ```
  ///
  /// Each method in the type's body gets ``JoinPoint(_:root:omit:)``, except private methods, operators, and methods
  /// without a body. A private method and an initialiser become join points if they have `@JoinPoint` themselves, or if
  /// `only` names them. An accessor becomes a join point if the accessor has `@JoinPoint("name")`. The macro does not
  /// see what is in extensions: put `@JoinPoint` on those methods and initialisers.
  ///
  /// **Names.** The type's nested enum `JoinPoints` has a property for each method, with the method's visibility. The
  /// property has the method's base name. If several methods share a base name, the labels are added: `likeAt` for
  /// `like(_:at:)` beside `like(_:)`. If two names are still equal, the macro asks for a name: `@JoinPoint("likeAll")`.
  /// An initialiser is `initTitle` for `init(title:)`, and `initializer` if no parameter has a label. A descriptor's
  /// type is ``JoinPoint``, with the parameters as a tuple.
  ///
  /// **Classes.** An override belongs to the join point of the overridden method, and has no name in `JoinPoints`:
  /// attach to `Page.JoinPoints.like`, with a ``Hook/Target`` for one class. Put `@Instrumented` on the subclasses too:
  /// hooks don't hear an override that is not instrumented and does not call `super`. A subclass whose methods are all
  /// overrides has no `JoinPoints` of its own, and `Child.JoinPoints` is the superclass's enum. An override of a method
  /// that is no join point in the superclass needs `@JoinPoint(root: true)`, or `except`. A method that has the base
  /// name and the labels of a superclass's method without overriding that method needs a name:
  /// `@JoinPoint("likeText")`.
  ///
  /// **Generic types.** A generic type can't have static stored properties. The join points of a generic type `Box` are
  /// in an enum `BoxJoinPoints` beside the type, and hear the calls of every type that `Box` makes. The owner is
  /// `AnyObject` for a class or an actor, `Any` for a structure or an enum, and `Any.Type` for a static method or an
  /// initialiser. A target names the type of a class: `.exactly(Box<Int>.self)`, and advice receives a `Box<Int>`. A
  /// parameter or a result whose type mentions a generic parameter, `Self` or `Box` arrives as `Any`, and so does the
  /// value of every property.
  ///
  /// **Cost.** A call with no hook attached costs a load and a branch, about a nanosecond. For each method, the
  /// compiler compiles four more lines, and the type has two more properties.
  ///
  /// The macro refuses protocols and extensions, types inside of a generic type or of a generic function, generic types
  /// inside of a function, names that no method has, and everything that ``JoinPoint(_:root:omit:)`` refuses. The
  /// message says what to do.
  ///
  /// - Parameters:
  ///   - only: The methods and initialisers to instrument, by base name, `"like"`, or in full, `"open(url:)"`,
  ///     `"init(title:)"`. All others stay as they are.
  ///   - except: The methods not to instrument, named in the same way.
  @attached(memberAttribute)
  @attached(member, names: named(JoinPoints), arbitrary)
  @attached(peer, names: suffixed(JoinPoints))
  public macro Instrumented(only: [String] = [], except: [String] = []) =
    #externalMacro(module: "WeirMacrosPlugin", type: "InstrumentedMacro")

  /// Makes a method, an initialiser or an accessor a join point: adds a static property, the descriptor, and a body
  /// that tells the descriptor of each call.
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
  /// In a type with ``Instrumented(only:except:)`` the descriptor is `ItemPage.JoinPoints.like`. In any other type, and
  /// in an extension, the descriptor is `ItemPage.likeJoinPoint`.
  ///
  /// **What advice receives.** Advice receives `self` (in a static or class method, the type), the parameters by the
  /// names that the body uses, with their values on entry, and the result. A value whose type only the function can
  /// name arrives as `Any`: a type that mentions a generic parameter, or `some P`. `Self` arrives as the type that has
  /// the method. A variadic parameter arrives as an array. Parameters that can't outlive the call or can't be copied
  /// are left out: non-escaping functions, autoclosures, parameters that are `borrowing`, `consuming`, `sending` or
  /// `isolated`, spans, parameter packs, and parameters without a name. A result that is `sending` or can't be copied
  /// arrives as `Void`. A macro does not see the type behind a name: use `omit` for a function type that a typealias
  /// hides, and for a type that can't be copied.
  ///
  /// **The body** stays as it is, except that each result is passed on as it is returned. Compiler messages and stack
  /// traces point at the source. A `#line` in the body is the line on which `#line` stands. But if `#line` is the
  /// default value of a parameter, as in many loggers, a call in the body gets the line of the attribute. A body that
  /// contains a closure with a capture list, such as `[weak self]`, is wrapped in a local function, because the
  /// compiler refuses the closure otherwise. A result builder's body can't have a join point: the macro refuses a
  /// method with an attribute whose name ends in `Builder`.
  ///
  /// **Overrides.** An override has no descriptor: its calls belong to the join point of the overridden method, which
  /// the compiler finds by the base name and the labels. If that join point has a name, or omits parameters, the
  /// override needs the same arguments.
  ///
  /// **Initialisers.** The owner is the type, the result the object: `JoinPoint<ItemPage.Type, (title: String, ()),
  /// ItemPage>`. Advice before the call receives the class of the object that is going to be made, and no object. The
  /// outcome of an initialiser that may return nil is an optional. Each initialiser is a join point of its own, even if
  /// the initialiser overrides another: every object of a subclass is made by an initialiser of the superclass too, so
  /// hooks hear subclasses that are not instrumented. Advice receives the value of a structure before a `defer` of the
  /// initialiser changes the value.
  ///
  /// **Accessors.** Write the attribute with a name before `get`, `set`, `willSet` or `didSet`, of a property or of a
  /// subscript, in the body of a type with ``Instrumented(only:except:)``:
  ///
  /// ```swift
  /// var title: String {
  ///   @JoinPoint("title") get { … }
  ///   @JoinPoint("setTitle") set { … }
  /// }
  /// var likes: Int = 0 { @JoinPoint("likesChanged") didSet {} }
  /// ```
  ///
  /// Advice receives what a subscript's parameters are, `newValue` of `set` and `willSet`, and `oldValue` of a `didSet`
  /// that mentions `oldValue`. The property needs a type annotation. An override of an accessor needs the name that the
  /// accessor above has, or a name of its own and `root`.
  ///
  /// **Cost.** The cost is that of ``Instrumented(only:except:)``.
  ///
  /// The macro refuses methods of generic types without ``Instrumented(only:except:)``, of types that can't be copied,
  /// and of protocols; local functions, operators and deinitialisers; `consuming`, `borrowing`, `@inlinable` and
  /// unavailable methods; and a capture list in a method that rethrows, in an initialiser and in an accessor. The
  /// message says what to do.
  ///
  /// - Parameters:
  ///   - name: The join point's name, for `JoinPoints.name` or `nameJoinPoint`. By default the method's base name. An
  ///     accessor needs a name.
  ///   - root: Whether an override is a join point of its own, because the superclass is not instrumented.
  ///   - omit: The parameters to leave out, by the names that the body uses.
  @attached(body)
  @attached(peer, names: arbitrary)
  public macro JoinPoint(_ name: String? = nil, root: Bool = false, omit: [String] = []) =
    #externalMacro(module: "WeirMacrosPlugin", type: "JoinPointMacro")

  /// Makes a function at file scope a join point: `chargeJoinPoint` for a function `charge`.
  ///
  /// ```swift
  /// @FunctionJoinPoint
  /// func charge(order: Order) async throws -> Receipt { … }
  ///
  /// let hook = chargeJoinPoint.after(.everything) { _, call, outcome in print(call.order, outcome) }
  /// ```
  ///
  /// Otherwise this macro works like ``JoinPoint(_:root:omit:)``, with `Void` as the owner. If a module has several
  /// functions with the same base name, only one of the functions can have this macro, because the descriptor's name
  /// follows from the base name alone.
  ///
  /// - Parameter omit: The parameters to leave out, by the names that the body uses.
  @attached(body)
  @attached(peer, names: suffixed(JoinPoint), suffixed(JoinPointRecord))
  public macro FunctionJoinPoint(omit: [String] = []) =
    #externalMacro(module: "WeirMacrosPlugin", type: "FunctionJoinPointMacro")
#endif
