package weir

import (
	"strings"
	"unicode/utf8"
)

const (
	redacted  = "[redacted]"
	undefined = "weir.undefined" // the name of an event whose definition is lost
	unread    = "payload"        // the field of a payload that can't be read
)

// namesMost is how many names a path of a tagged type may have. A longer path hides too much rather than too little.
const namesMost = 5

// sensitive is what is sensitive of an object: names, and paths, which have the names of the objects around before a
// name, and a separator between. That is a dot, which may be in a name too, or for declared fields a byte that is not.
type sensitive map[string]bool

const dot, noDot = ".", "\xff"

// Redacted is the fields as `weir cat` shows them, with the text "[redacted]" in the place of each sensitive value:
// what the definition declares sensitive, and of an event of Weir's own the sensitive traits of its user. Of a payload
// that does not fit, or whose definition is lost, the only field is `payload`: "[redacted]", or of an event that
// carries the names of its fields the bytes.
func (e *Event) Redacted() []Field {
	fields, err := e.Fields()
	if err != nil {
		fields = []Field{{unread, e.Payload}}
	}
	name, d := e.Name, e.Definition
	if name == "" {
		name = undefined
	}
	packed := d != nil && !d.isTagged()
	if len(fields) == 1 && fields[0].Name == unread && isBytes(fields[0].Value) &&
		(name == undefined || packed && !d.declares(unread)) {
		return []Field{{unread, redacted}}
	}
	if packed {
		return d.sensitive.hide(fields, noDot)
	}
	if d != nil && len(d.Attributes) > 0 {
		return d.sensitive.hide(fields, dot)
	}
	traits, is := lastOf(fields, "traits").([]Field)
	if is && strings.HasPrefix(name, "weir.") {
		hidden := e.sensitiveTraits(traits).hide(traits, dot)
		for i := range fields {
			if fields[i].Name == "traits" {
				fields[i].Value = hidden
			}
		}
	}
	return fields
}

// sensitiveTraits are those that the context or the scope names. All are where it is not known which are.
func (e *Event) sensitiveTraits(traits []Field) sensitive {
	context, _ := Object(e.Context)
	scope, err := Object(e.Scope)
	bound, _ := lastOf(scope, "fields").([]Field)
	all := e.ContextNumber != 0 && e.Context == nil || e.Scope != nil && (err != nil || !haveNames(scope)) ||
		len(bound) == 1 && bound[0].Name == "scope" && isBytes(bound[0].Value)
	paths := sensitive{}
	paths.take(context)
	paths.take(scope)
	for _, trait := range traits {
		if all || paths["*"] {
			paths[trait.Name] = true
		}
	}
	return paths
}

// isBytes says whether a value is bytes, as a text is that is not UTF-8.
func isBytes(value Value) bool {
	text, is := value.(string)
	_, are := value.([]byte)
	return are || is && !utf8.ValidString(text)
}

// lastOf is the last member of a name; nil without one.
func lastOf(fields []Field, name string) (value Value) {
	for _, field := range fields {
		if field.Name == name {
			value = field.Value
		}
	}
	return value
}

// take adds the paths that an object has as its member `sensitive`: attributes, a context or a scope.
func (s sensitive) take(object []Field) {
	paths, _ := lastOf(object, "sensitive").([]Value)
	for _, path := range paths {
		if text, is := path.(string); is && utf8.ValidString(text) {
			s[text] = true
		}
	}
}

// hide answers an object without what is sensitive of it.
func (s sensitive) hide(object []Field, separator string) []Field {
	if len(s) == 0 {
		return object
	}
	hidden := append([]Field{}, object...)
	for i, field := range object {
		if field.Value == nil {
			continue
		}
		if s[field.Name] {
			hidden[i].Value = redacted
			continue
		}
		within := sensitive{}
		for path := range s {
			if strings.HasPrefix(path, field.Name+separator) {
				within[path[len(field.Name+separator):]] = true
			}
		}
		if len(within) > 0 {
			hidden[i].Value = within.hideIn(field.Value, separator)
		}
	}
	return hidden
}

// hideIn answers a value in the place of an object without what is sensitive of it, or of the objects of an array.
// Nothing is left of any other value.
func (s sensitive) hideIn(value Value, separator string) Value {
	switch value := value.(type) {
	case nil:
		return nil
	case []Field:
		return s.hide(value, separator)
	case []Value:
		hidden := make([]Value, len(value))
		for i, inner := range value {
			hidden[i] = s.hideIn(inner, separator)
		}
		return hidden
	}
	return redacted
}

// takeSensitive keeps what attributes mark as sensitive.
func (d *Definition) takeSensitive(attributes []Field) {
	paths := sensitive{}
	paths.take(attributes)
	if len(paths) == 0 {
		return
	}
	d.sensitive = sensitive{}
	if !d.isTagged() {
		d.sensitive.declare(d.fields, paths, "", "")
		return
	}
	for path := range paths {
		d.sensitive[path] = true
		names := strings.Split(path, dot)
		for count := 1; len(names) > namesMost && count < len(names); count++ {
			d.sensitive[strings.Join(names[:count], dot)] = true
		}
	}
}

// declare adds those of the fields that lie inside an object, by its path with either separator, and that are marked.
func (s sensitive) declare(fields []fieldDescriptor, marked sensitive, dotted, undotted string) {
	for i := range fields {
		name, described := fields[i].name, &fields[i].descriptor
		if marked[dotted+name] {
			s[undotted+name] = true
		}
		for described.value != nil {
			described = described.value
		}
		s.declare(described.fields, marked, dotted+name+dot, undotted+name+noDot)
	}
}

// isTagged says whether the events carry the names of their fields.
func (d *Definition) isTagged() bool { return d.Tagged || d.number == typeDynamic }

func (d *Definition) declares(name string) bool {
	for i := range d.fields {
		if d.fields[i].name == name {
			return true
		}
	}
	return false
}
