package fold

import (
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// The rows of what a fold knows, as the tables would have them.

// Batches returns the rows of all batches, in the order of their ids.
func (f *Fold) Batches() []pgdb.AccessionBatch { return rowsOf(f.batches) }

// Batch returns the row of a batch.
func (f *Fold) Batch(id string) (pgdb.AccessionBatch, bool) { return rowOf(f.batches, id) }

// Jobs returns the rows of all jobs, in the order of their ids.
func (f *Fold) Jobs() []pgdb.AccessionJob { return rowsOf(f.jobs) }

// Job returns the row of a job.
func (f *Fold) Job(id string) (pgdb.AccessionJob, bool) { return rowOf(f.jobs, id) }

// Files returns the rows of all files, in the order of their hashes.
func (f *Fold) Files() []pgdb.AccessionFile { return rowsOf(f.files) }

// File returns the row of a file.
func (f *Fold) File(hash string) (pgdb.AccessionFile, bool) { return rowOf(f.files, hash) }

// FileCount returns the counters of a job or a batch.
func (f *Fold) FileCount(id string) (pgdb.AccessionFileCount, bool) { return rowOf(f.counts, id) }

// JobTransitions returns the changes of jobs' states since the fold was written.
func (f *Fold) JobTransitions() []pgdb.AccessionJobTransition { return f.transitions }

// FileTransitions returns the changes of files' states since the fold was written.
func (f *Fold) FileTransitions() []pgdb.AccessionFileTransition { return f.fileTransitions }

// Reports returns the reports since the fold was written.
func (f *Fold) Reports() []pgdb.AccessionBatchReport { return f.reports }

// Retries returns the failed attempts, in the order in which they failed.
func (f *Fold) Retries() []*Retry { return f.retries.order }

// DropTransitions forgets changes of states and reports, which are many.
func (f *Fold) DropTransitions() {
	f.transitions, f.fileTransitions, f.reports = f.transitions[:0], f.fileTransitions[:0], f.reports[:0]
}
