package directories

// The help of `accession file redownload`.
const (
	Redownload     = "Fetch files of datasets anew"
	RedownloadLong = `Fetch files of datasets anew, such as those that were changed at their source: files
that are DOWNLOADED, were given up or were skipped. The copy that is there is put into
files/quarantine of the working directory. --reason is required; the history records it.
What was processed is not fetched again: a dataset that was made with --by-version has a
file of its own for each version.`
)

// The help of `accession file reprocess`.
const (
	Reprocess     = "Process files of datasets again"
	ReprocessLong = `Process files of datasets again: those that are PROCESSED, or were given up, become
READY, and their attempts are counted from 0. --reason is required; the history records
it.`
)
