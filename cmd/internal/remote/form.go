package remote

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// keyHeader makes a request that is repeated have its effect once.
const keyHeader = "Idempotency-Key"

// form is the input of an operation as a request has it.
type form struct {
	path, rawPath string
	query         url.Values
	header        http.Header
	body          []byte // JSON, nil = none
}

// formOf returns the form of an input, by the tags that the routes are made from.
func formOf(op *operation.Operation, in any) (form, error) {
	v := reflect.ValueOf(in)
	if v.Kind() != reflect.Pointer || v.Elem().Type() != op.Input {
		panic(fmt.Sprintf("the operation %s takes *%v, not %T", op.Name, op.Input, in)) // a fault of the caller, which a test finds
	}
	f := form{path: op.Path, rawPath: op.Path, query: url.Values{}, header: http.Header{}}
	if err := f.add(v.Elem(), op); err != nil {
		return f, err
	}
	return f, nil
}

// add adds the fields of a struct.
func (f *form) add(v reflect.Value, op *operation.Operation) error {
	for field, value := range v.Fields() {
		tag := field.Tag
		switch {
		case field.Anonymous && value.Kind() == reflect.Struct:
			if err := f.add(value, op); err != nil {
				return err
			}
		case !field.IsExported():
		case tag.Get("path") != "":
			hole := "{" + tag.Get("path") + "}"
			text := fmt.Sprint(value.Interface())
			f.path = strings.ReplaceAll(f.path, hole, text)
			f.rawPath = strings.ReplaceAll(f.rawPath, hole, url.PathEscape(text))
		case tag.Get("query") != "":
			name, _, _ := strings.Cut(tag.Get("query"), ",")
			text, err := textOf(name, value)
			if err != nil {
				return err
			}
			if !value.IsZero() || tag.Get("required") == "true" {
				f.query.Set(name, text)
			}
		case tag.Get("header") == "Authorization": // the credential is in every request
		case tag.Get("header") != "":
			text := fmt.Sprint(value.Interface())
			if tag.Get("header") == keyHeader && op.Write && text == "" {
				text = uuid.Must(uuid.NewV7()).String()
			}
			if text != "" {
				f.header.Set(tag.Get("header"), text)
			}
		case field.Name == "Body" && (value.Kind() != reflect.Pointer || !value.IsNil()):
			var err error
			if f.body, err = json.Marshal(value.Interface()); err != nil {
				return err
			}
		}
	}
	return nil
}

// textOf returns a parameter as text.
func textOf(name string, v reflect.Value) (string, error) {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.Format(time.RFC3339Nano), nil
	case []string:
		for _, one := range x {
			if strings.Contains(one, ",") {
				return "", &app.Error{Kind: app.Invalid, What: "send the request", Err: fmt.Errorf("%s=%q has a comma, which separates several", name, one), Hint: "leave it out"}
			}
		}
		return strings.Join(x, ","), nil
	}
	return fmt.Sprint(v.Interface()), nil
}
