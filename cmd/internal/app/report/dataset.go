package report

import (
	"fmt"
	"iter"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/group"
	"github.com/accession-ingest/accession/projections/query"
)

// The results of files of a dataset, as the view of reconciliation has them.
const (
	resultMissing   = "missing"
	resultExtra     = "extra"
	resultChanged   = "changed"
	resultReplaced  = "replaced"
	resultGone      = "gone"
	resultHeldHere  = "held"
	resultLeftOut   = "skipped"
	resultProcessed = "processed"
)

// depositedLate is what the view calls a file that is late for the deposit of its group.
const depositedLate = "late"

// DatasetReconciliation reports for each file of a dataset whether its directory lists it,
// whether its content is held, and whether it is processed; counts are those of all results.
func DatasetReconciliation(dataset string, counts []query.DatasetResult, files iter.Seq2[query.ReconciledFile, error]) Report {
	facts, total, terms := []Fact{{"dataset", "dataset", dataset}}, int64(0), []string{}
	for _, c := range counts {
		total += c.Files
		terms = append(terms, fmt.Sprintf("%d %s", c.Files, c.Result))
	}
	sum := "none known yet"
	if total > 0 {
		sum = fmt.Sprintf("%d = %s", total, strings.Join(terms, " + "))
	}
	return Report{Facts: append(facts, Fact{"files", "files", sum}), Tables: []Table{{
		Name: "files", Title: "Files", None: "No file of the dataset is known yet.", Total: total,
		Columns: columns("path", "group", "listed", "held", "processed", "result", "explanation", "listed_size", "size", "listed_at", "discovery", "raw_file_hash", "deposit", "deposit_batch"),
		Rows: rowsOf(files, func(f query.ReconciledFile) []any {
			return []any{f.Path, f.GroupName, f.Listed, f.Held, f.Processed, f.Result, explained(f), cell(f.ListedSize), f.Size, cell(f.ListedAt), f.Discovery, f.RawFileHash, f.Deposit, f.DepositBatch}
		})}}}
}

// explained explains a result, and what is missing in the deposit of the file's group.
func explained(f query.ReconciledFile) string {
	why, deposit := reconciled(f), ""
	switch f.Deposit {
	case string(group.Missing):
		deposit = "the deposit of its group was made without it"
	case depositedLate:
		deposit = "it came after its group was found complete, and is in no deposit"
		if f.Status == string(domain.FileReady) {
			deposit += ": `accession file abandon` gives it up"
		}
	}
	if why == "" || deposit == "" {
		return why + deposit
	}
	return why + "; " + deposit
}

// reconciled explains a result that is not the expected one.
func reconciled(f query.ReconciledFile) string {
	reason := ""
	if f.ReasonCode != nil {
		reason = ": " + *f.ReasonCode + ": " + value(f.ReasonMessage)
	}
	switch f.Result {
	case resultMissing:
		return "it is " + f.Status + reason
	case resultExtra:
		if f.GoneAt == nil {
			return "no poll has listed it; it is " + f.Status
		}
		return "its directory lists it no more; it is " + f.Status
	case resultChanged:
		if f.ListedSize != nil && *f.ListedSize != f.Size {
			return fmt.Sprintf("its directory lists %d bytes, %d are held", *f.ListedSize, f.Size)
		}
		return "it was changed at its source after it was downloaded"
	case resultReplaced:
		return "its directory lists another version, which is a file of its own"
	case resultGone:
		return "its directory lists it no more, and it was not downloaded; it is " + f.Status + reason
	case resultLeftOut:
		return "it was left out" + reason
	case resultHeldHere:
		return "it is " + f.Status + reason
	case resultProcessed:
	}
	return ""
}
