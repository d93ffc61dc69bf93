package store

import (
	"os"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

func TestMain(m *testing.M) {
	remove := bucket.SetKey()
	code := m.Run()
	remove()
	os.Exit(code)
}
