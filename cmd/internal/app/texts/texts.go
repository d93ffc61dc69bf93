// Package texts looks at the texts of inputs and errors.
package texts

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/text"
)

// Check returns an error if a text of an input is none (see [text.Check]), and the name of its
// field as a caller writes it. A field with the tag secret is not looked at: it is compared with
// nothing but itself and never shown. Nor is one with the tag output: it has what a program wrote,
// and is kept as a text that is safe to show. One with the tag lines has the content of a file: its
// lines are looked at.
func Check(in any) (field string, err error) { return check(reflect.ValueOf(in), "") }

func check(v reflect.Value, name string) (string, error) {
	switch v.Kind() {
	case reflect.String:
		return name, text.Check(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return check(v.Elem(), name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if at, err := check(v.Index(i), fmt.Sprintf("%s[%d]", name, i)); err != nil {
				return at, err
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := text.Check(each.Key().String()); err != nil {
				return "a key of " + name, err
			}
			if at, err := check(each.Value(), Join(name, each.Key().String())); err != nil {
				return at, err
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return "", nil
		}
		for f, value := range v.Fields() {
			if !f.IsExported() || f.Tag.Get("secret") != "" || f.Tag.Get("output") != "" {
				continue
			}
			if f.Tag.Get("lines") != "" {
				value = reflect.ValueOf(breaks.Replace(value.String()))
			}
			if at, err := check(value, Join(name, NameOf(f))); err != nil {
				return at, err
			}
		}
	}
	return "", nil
}

// breaks replaces what only the content of a file may have.
var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

// NameOf returns the name of a field for callers, "" = it groups others.
func NameOf(f reflect.StructField) string {
	json, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(f.Tag.Get("path"), f.Tag.Get("query"), f.Tag.Get("header"), json)
}

// Join returns the name of a field in a group.
func Join(group, name string) string {
	if group == "" || name == "" {
		return group + name
	}
	return group + "." + name
}

// OneLine returns an error whose text is one line: some drivers write a list.
func OneLine(err error) error { return oneLine{err} }

type oneLine struct{ error }

// Error implements error.
func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

// Unwrap returns the cause.
func (e oneLine) Unwrap() error { return e.error }
