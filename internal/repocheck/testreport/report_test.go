package main

import (
	"bufio"
	"strings"
	"testing"
)

const (
	start  = `{"Action":"start","Package":"m/p"}` + "\n"
	passA  = `{"Action":"output","Package":"m/p","Test":"TestA","Output":"    quiet\n"}` + "\n" + `{"Action":"pass","Package":"m/p","Test":"TestA","Elapsed":1.5}` + "\n"
	failB  = `{"Action":"output","Package":"m/p","Test":"TestB","Output":"=== RUN   TestB\n"}` + "\n" + `{"Action":"output","Package":"m/p","Test":"TestB","Output":"    wrong\n"}` + "\n" + `{"Action":"fail","Package":"m/p","Test":"TestB","Elapsed":0.2}` + "\n"
	skipC  = `{"Action":"skip","Package":"m/p","Test":"TestC","Elapsed":0}` + "\n"
	ok     = `{"Action":"output","Package":"m/p","Output":"ok  \tm/p\t1.7s\n"}` + "\n" + `{"Action":"pass","Package":"m/p","Elapsed":1.7}` + "\n"
	fail   = `{"Action":"output","Package":"m/p","Output":"FAIL\tm/p\t1.7s\n"}` + "\n" + `{"Action":"fail","Package":"m/p","Elapsed":1.7}` + "\n"
	leak   = `{"Action":"output","Package":"m/p","Output":"found a leaked goroutine\n"}` + "\n"
	noTest = `{"Action":"start","Package":"m/q"}` + "\n" + `{"Action":"output","Package":"m/q","Output":"?   \tm/q\t[no test files]\n"}` + "\n" + `{"Action":"skip","Package":"m/q"}` + "\n"
	build  = `{"Action":"build-output","ImportPath":"m/p","Output":"p.go:1:1: broken\n"}` + "\n"
)

func TestReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		stream string
		kept   bool
		want   []string
		not    []string
		last   string
	}{
		{"all pass", start + passA + ok + noTest, true, []string{"1 passed, 0 failed", "1.50s  TestA  m/p"}, []string{"quiet"}, "ok  \tm/p\t1.7s"},
		{"a failure shows its output", start + passA + failB + fail, false, []string{"    wrong", "failed: TestB  m/p", "1 passed, 1 failed"}, []string{"=== RUN", "quiet"}, "FAIL"},
		{"a skip is a failure", start + passA + skipC + ok, false, []string{"skipped, which counts as failed: TestC"}, nil, "FAIL"},
		{"a package can fail on its own", start + passA + leak + fail, false, []string{"found a leaked goroutine"}, nil, "FAIL"},
		{"what does not build", build + start + fail, false, []string{"p.go:1:1: broken"}, nil, "FAIL"},
		{"no test at all", noTest, false, []string{"no test ran"}, nil, "FAIL"},
		{"a stream that ends early", start + passA, false, []string{"cut off before its end: m/p"}, nil, "FAIL"},
		{"other lines pass through", "stack: healthy\n" + start + passA + ok, true, []string{"stack: healthy\n"}, nil, "ok  \tm/p\t1.7s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			kept, err := run(strings.NewReader(c.stream), bufio.NewWriter(&out))
			if err != nil {
				t.Fatal(err)
			}
			if kept != c.kept {
				t.Errorf("kept = %v, want %v", kept, c.kept)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("missing %q in:\n%s", want, out.String())
				}
			}
			for _, not := range c.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("unwanted %q in:\n%s", not, out.String())
				}
			}
			lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; last != c.last {
				t.Errorf("last line %q, want %q", last, c.last)
			}
		})
	}
}
