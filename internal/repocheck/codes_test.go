package repocheck

import "testing"

func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, body, want string }{
		{"eventstore/a.go", `var r = Refused{Code: "bad_name"}`, `the code "bad_name" is a text`},
		{"eventstore/a.go", `var r = &domain.Refused{Code: domain.CodeBadName, Message: "x"}`, ""},
		{"cmd/internal/app/a.go", `var l = []domain.Code{domain.CodeIllegal, "bad_name"}`, `the code "bad_name" is a text`},
		{"domain/a.go", `var l = []Code{"bad_name"}`, `the code "bad_name" is a text`},
		{"domain/a.go", `const CodeBadName Code = "bad_name"`, ""},
		{"domain/a.go", `var l = []string{"bad_name"}`, ""},
		{"domain/a_test.go", `var r = Refused{Code: "bad_name"}`, ""},
		{"eventstore/storetest/a.go", `var r = Refused{Code: "test"}`, ""},
	} {
		t.Run(c.file+" "+c.body, func(t *testing.T) {
			t.Parallel()
			one(t, CheckCodes, tree(c.file, "", c.body), c.want)
		})
	}
}
