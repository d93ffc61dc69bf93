package hint

import (
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
)

// mends says, by code or the beginning of codes, what depositors do about what they must correct.
// The first that fits counts.
var mends = []struct {
	codes []string
	what  string
}{
	{[]string{string(fetch.CodeBadURL), string(fetch.CodeAddressRefused), string(fetch.CodeRedirectRefused)},
		"name a URL that this collection may fetch, and deposit the object again"},
	{[]string{string(fetch.CodeUnreachable), string(fetch.CodeHTTPStatus), string(fetch.CodeTimeout), string(fetch.CodeTooSlow)},
		"let your server send what the deposit names, then have the failed jobs requeued: only what is missing is fetched"},
	{[]string{"digest_mismatch", "size_mismatch"},
		"compare the file with what the deposit says of it, correct the one that is wrong, and deposit the object again"},
	{[]string{"manifest_", "row_"},
		"correct the manifest and deposit it again; `accession manifest check FILE` shows every fault at once"},
	{[]string{"container_", "bag_", "erc_"},
		"make the container again without what the reason names, and deposit it again"},
	{[]string{"identifier_"},
		"correct the identifier or the local id, and deposit the object again"},
}

// Mend says what is to be done about a failure that nothing tries again, by whom must act, beside
// what its message says.
func Mend(class domain.Class, code domain.Code) string {
	switch class.WhoActs() {
	case domain.ActsNone:
		return "nothing: it was requested"
	case domain.ActsService:
		return "nothing: it goes on by itself"
	case domain.ActsOperator:
		return "an operator repairs what the reason names and requeues the failed jobs; what was deposited is kept"
	}
	for _, m := range mends {
		for _, known := range m.codes {
			if string(code) == known || strings.HasSuffix(known, "_") && strings.HasPrefix(string(code), known) {
				return m.what
			}
		}
	}
	return "correct what the reason names, and deposit the object again"
}
