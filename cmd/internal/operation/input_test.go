package operation

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/texts"
	"github.com/accession-ingest/accession/domain/text"
)

// TestEveryTextIsChecked puts what is no text into each text of each input, one at a time.
func TestEveryTextIsChecked(t *testing.T) {
	t.Parallel()
	var secrets []string
	checked := 0
	for _, op := range Table() {
		in := reflect.New(op.Input)
		if err := checkTexts(in.Interface()); err != nil {
			t.Errorf("%s, empty: %v", op.Name, err)
		}
		eachText(in.Elem(), "", func(name string, v reflect.Value) {
			v.SetString("a\u202eb")
			err := checkTexts(in.Interface())
			v.SetString("a \U0001f30a b")
			if _, is := errors.AsType[*text.Error](err); is {
				checked++
			} else {
				secrets = append(secrets, op.Name+" "+name)
			}
			if err := checkTexts(in.Interface()); err != nil {
				t.Errorf("%s %s: %v", op.Name, name, err)
			}
		})
	}
	if want := []string{"session.end Authorization", "compute.complete last_lines", "compute.fail last_lines", "task.complete last_lines", "task.fail last_lines", "user.password password"}; !slices.Equal(secrets, want) || checked < 100 {
		t.Errorf("%d texts are checked, and these are not: %q, want %q", checked, secrets, want)
	}
}

// eachText calls do with each text of an input, which it makes where there is none.
func eachText(v reflect.Value, name string, do func(name string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		do(name, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		eachText(v.Elem(), name, do)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		eachText(v.Index(0), name, do)
	case reflect.Struct:
		for f, value := range v.Fields() {
			if f.IsExported() && f.Type != reflect.TypeFor[time.Time]() {
				eachText(value, texts.Join(name, texts.NameOf(f)), do)
			}
		}
	}
}

// TestLinesOfFiles: the content of a file may have lines, and nothing else that is no text.
func TestLinesOfFiles(t *testing.T) {
	t.Parallel()
	in := &ProfileSet{}
	for content, text := range map[string]bool{"name: a\n\tb\r\n": true, "a\rb": false, "a\x00": false, "a\n\u202eb": false, "\xff\n": false} {
		in.Body.Content, in.Body.Reason = content, "why"
		if err := checkTexts(in); (err == nil) != text {
			t.Errorf("%q: %v", content, err)
		}
		in.Body.Content, in.Body.Reason = "a", content
		if err := checkTexts(in); err == nil {
			t.Errorf("%q is a reason", content)
		}
	}
}
