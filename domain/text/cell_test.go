package text_test

import (
	"testing"

	"github.com/accession-ingest/accession/domain/text"
)

func TestCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain": "plain", "a=b": "a=b", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@sum": "'@sum", "\t=1": "'\t'=1",
		"\r=1": "\ufffd=1", "\n=1": "'\n'=1", "\uff1d1": "'\uff1d1", "a\x1bb": "a\ufffdb", "\xffx": "\ufffdx", "é": "é", "'": "'",
		" =1": " '=1", "\u00a0@x": "\u00a0'@x", "\ufeff=1": "\ufffd=1", "a\u202eb": "a\ufffdb", "\u200b=1": "\ufffd=1", "\"=1": "\"'=1", "'=1": "'=1", "a;=1": "a;'=1", "a; \"=1": "a; \"'=1", "a|-1": "a|'-1",
		"a,=1": "a,'=1", "Smith, -1900": "Smith, -1900", "a\t+1": "a\t'+1", "a\n@x": "a\n'@x", "a;b-c;d": "a;b-c;d", " plain": " plain",
	} {
		if got := text.Cell(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
