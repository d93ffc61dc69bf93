package repocheck

import (
	"testing"
	"testing/fstest"
)

func TestReached(t *testing.T) {
	t.Parallel()
	const reason = "package domain\n\ntype Code string\n\nconst CodeNoSpace Code = \"no_space\"\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"not at all":              {"domain/a_test.go", "package domain\n", "no test reaches the code domain.CodeNoSpace (no_space)"},
		"by its constant":         {"domain/a_test.go", "package domain\n\nvar x = CodeNoSpace\n", ""},
		"by that of another":      {"cmd/a_test.go", "package a\n\nvar x = CodeNoSpace\n", "no test reaches the code domain.CodeNoSpace (no_space)"},
		"from elsewhere":          {"cmd/a_test.go", "package a\n\nimport \"" + Module + "/domain\"\n\nvar x = domain.CodeNoSpace\n", ""},
		"from elsewhere, renamed": {"cmd/a_test.go", "package a\n\nimport d \"" + Module + "/domain\"\n\nvar x = d.CodeNoSpace\n", ""},
		"by its text":             {"cmd/a_test.go", "package a\n\nvar x = \"failed with no_space (content)\"\n", ""},
		"by a part of a text":     {"cmd/a_test.go", "package a\n\nvar x = \"no_space_left\"\n", "no test reaches the code domain.CodeNoSpace (no_space)"},
		"by the program alone":    {"cmd/a.go", "package a\n\nvar x = \"no_space\"\n", "no test reaches the code domain.CodeNoSpace (no_space)"},
		"a list of codes":         {"domain/manifest/a.go", "package manifest\n\n// Codes of rows.\nconst NoName = \"no_name\"\n\nvar x = domain.CodeNoSpace\n", "no test reaches the code domain/manifest.NoName (no_name)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{"domain/reason.go": {Data: []byte(reason)}, c.file: {Data: []byte(c.text)}}
			if name == "a list of codes" {
				root["domain/b_test.go"] = &fstest.MapFile{Data: []byte("package domain\n\nvar x = CodeNoSpace\n")}
			}
			one(t, CheckReached, root, c.want)
		})
	}
}
