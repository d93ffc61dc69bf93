package forms

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestFieldsAreDescribed: the description of a form has the fields that are looked at, and the
// names of its file, and no others.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range Table() {
		looked, files := merrittFields, "file"
		switch {
		case strings.HasPrefix(f.Name, "form.status"):
			looked, files = statusFields, ""
		case strings.HasPrefix(f.Name, "form.deposit"):
			looked, files = crossrefFields, crossrefFiles
		}
		want := slices.Collect(maps.Keys(looked))
		for _, name := range strings.Fields(files) {
			want = append(want, strings.ToLower(name))
		}
		var has []string
		for _, field := range f.Fields() {
			has = append(has, strings.ToLower(field.Name))
			if field.Doc == "" || field.File != slices.Contains(strings.Fields(files), field.Name) {
				t.Errorf("%s: %+v", f.Name, field)
			}
		}
		if slices.Sort(has); !slices.Equal(has, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s is described with %v, and looks at %v", f.Name, has, want)
		}
		if len(f.Replies()) == 0 {
			t.Errorf("%s answers nothing", f.Name)
		}
	}
}
