package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/internal/repocheck"
)

const (
	start  = `{"Action":"start","Package":"m/p"}` + "\n"
	passA  = `{"Action":"output","Package":"m/p","Test":"TestA","Output":"    quiet\n"}` + "\n" + `{"Action":"pass","Package":"m/p","Test":"TestA","Elapsed":1.5}` + "\n"
	failB  = `{"Action":"output","Package":"m/p","Test":"TestB","Output":"=== RUN   TestB\n"}` + "\n" + `{"Action":"output","Package":"m/p","Test":"TestB","Output":"    wrong\n"}` + "\n" + `{"Action":"fail","Package":"m/p","Test":"TestB","Elapsed":0.2}` + "\n"
	skipC  = `{"Action":"skip","Package":"m/p","Test":"TestC","Elapsed":0}` + "\n"
	ok     = `{"Action":"output","Package":"m/p","Output":"ok  \tm/p\t1.7s\n"}` + "\n" + `{"Action":"pass","Package":"m/p","Elapsed":1.7}` + "\n"
	fail   = `{"Action":"output","Package":"m/p","Output":"FAIL\tm/p\t1.7s\n"}` + "\n" + `{"Action":"fail","Package":"m/p","Elapsed":1.7}` + "\n"
	leak   = `{"Action":"output","Package":"m/p","Output":"found a leaked goroutine\n"}` + "\n"
	inB    = `{"Action":"output","Package":"m/p","Test":"TestB","Output":"panic: no map\n"}` + "\n" + `{"Action":"output","Package":"m/p","Test":"TestB","Output":"goroutine 7 [running]:\n"}` + "\n"
	noTest = `{"Action":"start","Package":"m/q"}` + "\n" + `{"Action":"output","Package":"m/q","Output":"?   \tm/q\t[no test files]\n"}` + "\n" + `{"Action":"skip","Package":"m/q"}` + "\n"
	waits  = `{"Action":"pause","Package":"m/p","Test":"TestD/all/x"}` + "\n" + `{"Action":"pass","Package":"m/p","Test":"TestD/all/x","Elapsed":2}` + "\n" +
		`{"Action":"pass","Package":"m/p","Test":"TestD/all","Elapsed":0}` + "\n" + `{"Action":"pass","Package":"m/p","Test":"TestD","Elapsed":500}` + "\n"
	inside = `{"Action":"pass","Package":"m/p","Test":"TestE/x","Elapsed":3}` + "\n" + `{"Action":"pass","Package":"m/p","Test":"TestE","Elapsed":4}` + "\n"
	long   = `{"Action":"output","Package":"m/p","Test":"TestF","Output":"=== RUN   TestF\n"}` + "\n" + `{"Action":"output","Package":"m/p","Test":"TestF","Output":"    f_test.go:7: made in 299s\n"}` + "\n" +
		`{"Action":"output","Package":"m/p","Test":"TestF","Output":"a line\n"}` + "\n" + `{"Action":"pass","Package":"m/p","Test":"TestF","Elapsed":301}` + "\n"
	build = `{"Action":"build-output","ImportPath":"m/p","Output":"p.go:1:1: broken\n"}` + "\n"
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
		{"parallel subtests wait for others", start + waits + ok, true, []string{"2.00s  TestD/all/x  m/p"}, []string{"TestD  m/p", "TestD/all  m/p"}, "ok  \tm/p\t1.7s"},
		{"a subtest's time is in its parent's", start + inside + ok, true, []string{"4.00s  TestE  m/p"}, []string{"TestE/x"}, "ok  \tm/p\t1.7s"},
		{"what takes very long says where it went", start + long + ok, true, []string{"301.00s  TestF  m/p\n            f_test.go:7: made in 299s\n"}, []string{"RUN", "a line"}, "ok  \tm/p\t1.7s"},
		{"a skip is a failure", start + passA + skipC + ok, false, []string{"skipped, which counts as failed: TestC"}, nil, "FAIL"},
		{"a package can fail on its own", start + passA + leak + fail, false, []string{"found a leaked goroutine"}, nil, "FAIL"},
		{"a panic in a goroutine ends a test without an event", start + passA + inB + fail, false, []string{"goroutine 7 [running]", "failed: TestB  m/p\npanic: no map\n"}, nil, "FAIL"},
		{"what does not build", build + start + fail, false, []string{"p.go:1:1: broken"}, nil, "FAIL"},
		{"no test at all", noTest, false, []string{"no test ran"}, nil, "FAIL"},
		{"a stream that ends early", start + passA, false, []string{"cut off before its end: m/p"}, nil, "FAIL"},
		{"other lines pass through", "stack: healthy\n" + start + passA + ok, true, []string{"stack: healthy\n"}, nil, "ok  \tm/p\t1.7s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			kept, err := run(strings.NewReader(c.stream), bufio.NewWriter(&out), fstest.MapFS{})
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

// said is what a run prints after the last line of a package.
func said(t *testing.T, source fstest.MapFS, output ...string) []string {
	t.Helper()
	pkg := repocheck.Module + "/p"
	var stream strings.Builder
	enc := json.NewEncoder(&stream)
	all := []event{{Action: "start", Package: pkg}}
	for _, line := range output {
		all = append(all, event{Action: "output", Package: pkg, Test: "TestA", Output: line + "\n"})
	}
	closing := "FAIL\t" + pkg + "\t1.7s"
	all = append(all, event{Action: "fail", Package: pkg, Test: "TestA"}, event{Action: "output", Package: pkg, Output: closing + "\n"}, event{Action: "fail", Package: pkg})
	for _, e := range all {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if kept, err := run(strings.NewReader(stream.String()), bufio.NewWriter(&out), source); err != nil || kept {
		t.Fatal(kept, err)
	}
	text := out.String()
	return strings.Split(strings.TrimRight(text[strings.LastIndex(text, closing)+len(closing)+1:], "\n"), "\n")
}

// A log of which only the end is kept names the cause: the end has the messages of each
// failed test, without what it logged before, between and behind them.
func TestMessagesComeLast(t *testing.T) {
	t.Parallel()
	source := fstest.MapFS{"p/a_test.go": {Data: []byte("package p\n\tt.Log(a)\n\tt.Logf(b)\n\tt.Errorf(c)\n\tin.must(err)\n")}}
	head := "failed: TestA  " + repocheck.Module + "/p"
	var many, cut []string
	for i := range 4 {
		many = append(many, fmt.Sprintf("    a_test.go:4: message %d", i))
		for n := range 100 {
			many = append(many, fmt.Sprint("        line ", n))
		}
	}
	cut = append(cut, head, "    a_test.go:4: message 0", "        line 0", "        line 1", "        line 2", "        line 3", "    … 5 lines more")
	for i := 2; i < 4; i++ {
		cut = append(cut, fmt.Sprintf("    a_test.go:4: message %d", i), "        line 0", "        line 1", "        line 2", "        line 3")
	}
	for name, c := range map[string]struct{ output, want []string }{
		"without logs": {[]string{"=== RUN   TestA", "    a_test.go:2: a log", "        {its second line}", "    a_test.go:4: wrong", "        and why",
			"    a_test.go:3: log of serve 1:", "        {a log}", "    a_test.go:5: away", "--- FAIL: TestA (0.1s)"},
			[]string{head, "    a_test.go:4: wrong", "        and why", "    a_test.go:5: away", "FAIL"}},
		"of a file that is not there": {[]string{"    b_test.go:2: wrong"}, []string{head, "    b_test.go:2: wrong", "FAIL"}},
		"a panic":                     {[]string{"--- FAIL: TestA (0.1s)", "panic: out of range", "", "goroutine 1"}, []string{head, "panic: out of range", "", "goroutine 1", "FAIL"}},
		"many":                        {many, append(cut, "FAIL")},
		"long lines":                  {[]string{"    a_test.go:4: " + strings.Repeat("x", 10_000)}, []string{head, "    a_test.go:4: " + strings.Repeat("x", lineBytes-17), "FAIL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, said(t, source, c.output...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
