package store

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/synced"
)

// TestDurability: what is stored, and what a claim has won, outlasts a power cut.
// Shows: P1
func TestDurability(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(t *testing.T, dir string){
		"put": func(t *testing.T, dir string) {
			if _, err := open(t, dir).Put(t.Context(), "a/b/c", strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		},
		"put if absent": func(t *testing.T, dir string) {
			if _, err := open(t, dir).PutIfAbsent(t.Context(), "a/b/c", strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		},
		"version": func(t *testing.T, dir string) {
			write(t, open(t, dir), sample())
		},
		"version in OCFL": func(t *testing.T, dir string) {
			write(t, open(t, dir), inOCFL(1))
		},
		"claim": func(t *testing.T, dir string) {
			if err := claim(t, testWork(t, dir), "1", map[string]string{"a": "1", "b/c": "2"}).Commit(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synced.Run(t, func(dir string) { write(t, dir) })
		})
	}
}
