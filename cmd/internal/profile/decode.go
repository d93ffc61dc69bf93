package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a file being decoded: its faults so far, and on which line each
// field stands.
type document struct {
	file   string
	lines  map[string]int
	faults Faults
}

func (d *document) fault(line int, field, problem, remedy string) {
	d.faults = append(d.faults, Fault{File: d.file, Line: line, Field: field, Problem: problem, Remedy: remedy})
}

// decode decodes data into p and goes on after each fault. It does not use the strict
// mode of the YAML library, whose errors carry no field names.
func (d *document) decode(data []byte, p *Profile) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0:
		d.fault(0, "", "the file is empty", "write a profile, or remove the file")
		return
	case err != nil:
		d.syntax(err)
		return
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		d.fault(more.Line, "", "a second document follows", "write one profile a file")
	}
	d.value(root.Content[0], reflect.ValueOf(p).Elem(), "")
}

var syntaxError = regexp.MustCompile(`^yaml: line (\d+): (.*)`)

// syntax adds an error of the YAML library, with its line if it has one.
func (d *document) syntax(err error) {
	line, problem := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := syntaxError.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits; one too long counts as unknown
		problem = m[2]
	}
	d.fault(line, "", problem, "write valid YAML")
}

// value decodes one node into v, whose path is field.
func (d *document) value(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind == yaml.AliasNode {
		d.fault(n.Line, field, "anchors and aliases are not read", "write the value out")
		return
	}
	d.lines[field] = n.Line
	if n.Tag == "!!null" {
		return // as if it were left out
	}
	_, own := v.Addr().Interface().(yaml.Unmarshaler)
	switch {
	case own || v.Kind() != reflect.Struct && v.Kind() != reflect.Slice:
		d.scalar(n, v, field)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, field)
	default:
		d.sequence(n, v, field)
	}
}

func (d *document) scalar(n *yaml.Node, v reflect.Value, field string) {
	target := v.Addr().Interface()
	err := n.Decode(target)
	remedy := "write one value"
	if _, own := target.(yaml.Unmarshaler); own && err != nil {
		remedy = err.Error()
	} else if !own && v.CanInt() {
		remedy = "write a whole number"
		if err == nil && n.ShortTag() != "!!int" {
			err = errors.New("the library would cut a fraction off")
		}
	}
	if err != nil {
		d.fault(n.Line, field, describe(n)+" does not fit", remedy)
	}
}

func (d *document) sequence(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		d.fault(n.Line, field, describe(n)+" is not a list", "write [a, b] or one line with a dash each")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, list.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}
	v.Set(list)
}

func (d *document) mapping(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.MappingNode {
		d.fault(n.Line, field, describe(n)+" is not a set of fields", "write one field: value on each line")
		return
	}
	known, names := fieldsOf(v.Type())
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, path := n.Content[i], n.Content[i].Value
		if field != "" {
			path = field + "." + path
		}
		index, ok := known[key.Value]
		switch {
		case !ok && secretLike(key.Value):
			d.fault(key.Line, path, "a profile holds no secrets", "put it in a file and name that in the environment of the service")
		case !ok:
			d.fault(key.Line, path, "there is no such field", "use one of "+strings.Join(names, ", "))
		case seen[key.Value] > 0:
			d.fault(key.Line, path, fmt.Sprintf("the field was given in line %d already", seen[key.Value]), "keep one of them")
		default:
			seen[key.Value] = key.Line
			d.value(n.Content[i+1], v.Field(index), path)
		}
	}
}

// fieldsOf returns the fields that a file may name, by name and in their order.
func fieldsOf(t reflect.Type) (index map[string]int, names []string) {
	index = make(map[string]int)
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "-" {
			index[name] = i
			names = append(names, name)
		}
	}
	return index, names
}

func secretLike(key string) bool {
	secrets := []string{"password", "passwd", "secret", "token", "credential", "api_key", "apikey", "private_key"}
	return slices.ContainsFunc(secrets, func(word string) bool { return strings.Contains(strings.ToLower(key), word) })
}

// describe returns a value for a message, cut if it is long.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a set of fields"
	case yaml.SequenceNode:
		return "a list"
	default:
		return quote(n.Value)
	}
}

func quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
