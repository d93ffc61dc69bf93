package cli

import (
	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/domain"
)

func (p *program) file() *cobra.Command {
	c := &cobra.Command{
		Use:   "file",
		Short: "List files, show one and its history, take it up again, leave it out",
		Long: `A file is named by its hash: 64 digits that say where it comes from. The tables
and views of PostgreSQL call it raw_file_hash.`,
		Example: "  accession file ls --job jid0000000001\n  accession file requeue " + sampleHash + " --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
	}
	c.AddCommand(p.fileLs(), p.fileShow(), p.fileHistory(), p.fileRequeue(), p.fileSkip())
	return c
}

// sampleHash stands in examples.
const sampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func fileHash(command, word string) (domain.FileHash, error) {
	hash, err := domain.ParseFileHash(word)
	if err != nil {
		return "", &usageError{err, command}
	}
	return hash, nil
}

// checkFile is the check of verbs about files.
func checkFile(s string) error { _, err := domain.ParseFileHash(s); return err }
