package manifest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// TestGolden reads each example in testdata and compares what was understood,
// or what was found wrong, with the text beside it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.checkm")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(data, Limits{})
			got := describe(m, err)
			golden := strings.TrimSuffix(file, ".checkm") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs (write it anew with -update):\n%s", golden, got)
			}
			if broken := strings.HasPrefix(filepath.Base(file), "broken-"); broken != (m == nil) {
				t.Errorf("broken by its name: %t, by Parse: %t", broken, m == nil)
			}
		})
	}
}

func describe(m *Manifest, err error) []byte {
	var b bytes.Buffer
	var errs Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			fmt.Fprintf(&b, "%d %s\n  %s\n", e.Line, e.Code, e.Message)
		}
		return b.Bytes()
	}
	fmt.Fprintf(&b, "checkm %s, %s, jobs of type %s\n%v\n", m.Version, m.Profile.SubmissionType(), m.Profile.PayloadType(), m.Fields)
	for _, p := range m.Prefixes {
		fmt.Fprintf(&b, "prefix %s %s\n", p.Name, p.URI)
	}
	for _, r := range m.Rows {
		fmt.Fprintf(&b, "%d url=%q digest=%s:%s size=%d modified=%q name=%q mime=%q primary=%q local=%q creator=%q title=%q date=%q\n",
			r.Line, r.FileURL, r.HashAlgorithm, r.HashValue, r.Size, r.FileLastModified, r.FileName, r.MimeType,
			r.PrimaryIdentifier, r.LocalIdentifiers, r.Creator, r.Title, r.Date)
		if r.Fault != nil {
			fmt.Fprintf(&b, "  %d %s\n  %s\n", r.Fault.Line, r.Fault.Code, r.Fault.Message)
		}
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(&b, "warning: %d %s\n  %s\n", w.Line, w.Code, w.Message)
	}
	return b.Bytes()
}
