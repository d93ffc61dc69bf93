package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOps: each operation changes its place, and one that fits none or two is refused.
func TestOps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op         Op
		body, want string
	}{
		{Never("held"), "if a != nil && !s.held(a) {", "if a != nil && ((!s.held(a)) && false) {"},
		{Never("fresh"), "if err := s.fresh(); err != nil {}", "if err := s.fresh(); ((err != nil) && false) {}"},
		{Never("b"), "switch { case a: case b: }", "switch { case a: case ((b) && false): }"},
		{Always("a", "b"), "return a == 1 && b == 2 && c", "return ((a == 1 && b == 2) || true) && c"},
		{Always("c"), "for a { if c { } }", "for a { if ((c) || true) { } }"},
		{Never("a"), "if a { }; if b && a { }", "fits 2 places"},
		{Never("x"), "if a { }", "fits 0 places"},
		{Skip("the end"), `if a { return "the end" }; if b { return "no" }`, `if ((a) && false) { return "the end" }`},
		{Compare(">=", "1"), "if a == b+1 || a == b { }", "if a >= b+1 || a == b { }"},
		{Drop("check", "locks"), "p.check(s.locks()); p.check(s.space())", "; p.check(s.space())"},
		{Drop("check"), "of := 1; do(func() { p.check(of, h.b, H{of: 1}) })", "do(func() { _ = of })"},
		{Drop("<-", "done"), "close(done); <-done", "close(done); "},
		{DropCase("Done"), "select { case <-a: case <-ctx.Done(): f() }", "select { case <-a:  }"},
		{Call("later", "$recv.add($1)", "slow"), "q.x.later(e, slow); q.later(e, fast)", "q.x.add(e); q.later(e, fast)"},
		{Call("find", "nil, error(nil)"), "a, err := find[T](b)", "a, err := nil, error(nil)"},
		{Arg("set", 2, "-($0)"), "s.set(a, b, c.d+1)", "s.set(a, b, -(c.d+1))"},
		{Arg("set", 2, "1"), "s.set(a, b)", "fits 0 places"},
		{DropArg("exec", 1), "exec(a, b, c)", "exec(a, c)"},
		{Field("Check", "Version", "-1"), "f(&zk.Check{Path: p, Version: 0})", "f(&zk.Check{Path: p, Version: -1})"},
		{Value("b", "-$0"), "a, b := f(), g()", "a, b := f(), -g()"},
		{Value("MaxConns", "1", "n"), "cfg.MaxConns = 2; cfg.MaxConns = n", "cfg.MaxConns = 2; cfg.MaxConns = 1"},
		{Value("a", "1"), "var a = 2; const b = 3", "var a = 1; const b = 3"},
		{Value("a", "1"), "a, err := f()", "fits 0 places"},
		{Element(1, "nil", "x"), "f([][]T{a[x:], b, {y}})", "f([][]T{a[x:], nil, {y}})"},
		{Element(1, "$0+1", "persist"), `f([]T{{"persist", b}, {"other", c}})`, `f([]T{{"persist", b+1}, {"other", c}})`},
		{Element(2, "nil", "x"), "f(T{x, y})", "fits 0 places"},
		{Return("-($0)", "b"), "return a - b", "return -(a - b)"},
		{Text("where x", ""), `f("select where x", "y")`, `f("select ", "y")`},
		{Before("h()", "g"), "if a { f(); g() }", "if a { f(); h()\ng() }"},
		{First("return"), "f()", "{\nreturn f() }"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package p\n\nfunc (s *S[T]) M() { "+strings.TrimSuffix(c.body, "{")+closed(c.body)+" }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Mutant{At: ". (*S).M", Do: []Op{c.op}}.mutate(dir)
		text := got.text
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, strings.TrimSuffix(c.want, " {")) {
			t.Errorf("%s of %s:\n%s\nwant %s", c.op.what, c.body, text, c.want)
		}
	}
}

// closed completes an if whose body does not matter.
func closed(body string) string {
	if strings.HasSuffix(body, "{") {
		return "{ }"
	}
	return ""
}

func TestMutate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package p\n\nimport (\n\t\"errors\"\n\tq \"x/y\"\n)\n\nconst sql = `a b`\n\nfunc F() { errors.New(\"a\"); q.G(); q.H() }\n",
		"b.go": "package p\n\nfunc twice() {}\n",
		"c.go": "package p\n\nfunc twice() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		at   string
		do   []Op
		want string
	}{
		{"F", []Op{Drop("New"), Drop("G")}, "_ \"errors\"\n\tq \"x/y\"\n)\n\nconst sql = `a b`\n\nfunc F() { ; ; q.H() }"},
		{"F", []Op{Drop("G"), Drop("H")}, "\"errors\"\n\t_ \"x/y\""},
		{"F", []Op{Drop("G"), Drop("G")}, "two changes"},
		{"F", nil, "changes nothing"},
		{"sql", []Op{Text("b", "c")}, "const sql = `a c`"},
		{"twice", []Op{First("")}, "more than one file"},
		{"(*S).F", []Op{First("")}, "there is no (*S).F"},
	} {
		got, err := Mutant{At: ". " + c.at, Do: c.do}.mutate(dir)
		text := got.text
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.at, text, c.want)
		}
	}
}
