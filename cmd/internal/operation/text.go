package operation

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/text"
)

// checkTexts returns an error if a text of an input is none (see [text.Check]): texts are
// compared with those in the tables, or kept for ever. A field with the tag secret is not
// looked at: it is compared with nothing but itself and never shown. One with the tag lines has
// the content of a file: its lines are looked at.
func checkTexts(in any) error {
	name, err := notText(reflect.ValueOf(in), "")
	if err == nil {
		return nil
	}
	return invalid("%s %w", name, err)
}

// notText returns the name of the first field whose value is no text, as a caller writes it.
func notText(v reflect.Value, name string) (string, error) {
	switch v.Kind() {
	case reflect.String:
		return name, text.Check(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return notText(v.Elem(), name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if at, err := notText(v.Index(i), fmt.Sprintf("%s[%d]", name, i)); err != nil {
				return at, err
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := text.Check(each.Key().String()); err != nil {
				return "a key of " + name, err
			}
			if at, err := notText(each.Value(), fieldName(name, each.Key().String())); err != nil {
				return at, err
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return "", nil
		}
		for f, value := range v.Fields() {
			if !f.IsExported() || f.Tag.Get("secret") != "" {
				continue
			}
			if f.Tag.Get("lines") != "" {
				value = reflect.ValueOf(breaks.Replace(value.String()))
			}
			if at, err := notText(value, fieldName(name, nameOf(f))); err != nil {
				return at, err
			}
		}
	}
	return "", nil
}

// breaks replaces what only the content of a file may have.
var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

// nameOf returns the name of a field for callers, "" = it groups others.
func nameOf(f reflect.StructField) string {
	json, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(f.Tag.Get("path"), f.Tag.Get("query"), f.Tag.Get("header"), json)
}

func fieldName(group, name string) string {
	if group == "" || name == "" {
		return group + name
	}
	return group + "." + name
}
