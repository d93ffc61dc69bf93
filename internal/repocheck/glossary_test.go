package repocheck

import (
	"testing"
	"testing/fstest"
)

func TestGlossary(t *testing.T) {
	t.Parallel()
	const batch = "| **batch** | a thing | `domain.Batch` | | |"
	for _, c := range []struct{ page, code, want string }{
		{"| **batch** | a thing | `domain.Batch` | `accession.batch` | `batch` |", "type Batch int", ""},
		{batch, "type Batch int", ""},
		{batch, "type Batches int; type BatchedBatching int; type Batch int", ""},
		{batch, "type Batch int; type BatchJobs int", "the name BatchJobs has the word \"jobs\""},
		{"| **batch**, **job**, **retry**, **stop** | a thing | `domain.Batch` | | |", "type Batch int; type BatchJobs int; type RetriesStoppedStopping int; type other int", ""},
		{batch, "type Batch int; type BatchPlace int", "the name BatchPlace has the word \"place\""},
		{batch, "type Batch int; func BatchHeap() {}", "the name BatchHeap has the word \"heap\""},
		{batch, "type Batch int; func (Batch) Heap() {}", "the name Heap has the word \"heap\""},
		{batch, "type Batch struct{ Heap int }", "the name Heap has the word \"heap\""},
		{batch, "type Batch interface{ Heap() }", "the name Heap has the word \"heap\""},
		{batch, "type Batch int; const BatchHeap = 1", "the name BatchHeap has the word \"heap\""},
		{batch, "type Batch int; var BatchHeap = 1", "the name BatchHeap has the word \"heap\""},
		{batch, "type Batch struct{ heap int }; func heap(heap int) {}", ""},
		{batch, "type batch int", "docs/glossary.md:1: there is no domain.Batch"},
		{"| **batch** | a thing | | `accession.heap` | |", "type Batch int", "there is no accession.heap"},
		{"| **batch** | a thing | | | `heap` |", "type Batch int", "there is no heap"},
		{batch + "\n\n| **lap** | a way |", "type Batch int; func BatchLap() {}", ""},
		{batch + "\n\n## Ordinary words of names\n\nA heap.\n\n- nouns: state,\n  id.\n\nA heap.", "type BatchState int; type ID int; type Batch int", ""},
		{batch + "\n\n## Ordinary words of names\n\nA heap.\n- nouns: state.", "type Batch int; type BatchState int; var Heap int", "the name Heap has the word \"heap\""},
		{batch + "\n\n- nouns: state.", "type Batch int; type BatchState int", "the name BatchState has the word \"state\""},
		{batch + "\n\n## Ordinary words of names\n- nouns: state.", "type Batch int", "no exported name of the core has the word \"state\""},
		{batch + "\n\n## Ordinary words of names\n- nouns: state.\n- verbs: state.", "type Batch int; type State int", "\"state\" is in line 4 already"},
		{batch + "\n\n## Ordinary words of names\n- nouns: batches.", "type Batch int; type Batches int", "\"batches\" has a meaning in a table"},
		{batch + "\n\n## Ordinary words of names\n- nouns: errand.", "type Batch int; type Errand int", "\"errand\" is replaced by another word everywhere"},
		{"| **batch** | a thing | | | |\n| **batch** | another | | | |", "type Batch int", "docs/glossary.md:2: \"batch\" is in line 1 already"},
		{"A state is a thing.\n| **batch** | a place | | | |", "type BatchState int", "the name BatchState"},
	} {
		root := tree("domain/a.go", "", c.code)
		root[glossaryPage] = &fstest.MapFile{Data: []byte(c.page)}
		root["migrations/a.sql"] = &fstest.MapFile{Data: []byte("create table accession.batch ()")}
		root["docs/cli.md"] = &fstest.MapFile{Data: []byte("accession batch list")}
		one(t, CheckGlossary, root, c.want)
	}
	internal := tree("eventstore/zklive/internal/a/a.go", "", "type Heap int")
	for name, want := range map[string]string{"docs/cli.md": "", glossaryPage: "", "migrations/a.sql": ""} {
		internal[name] = &fstest.MapFile{Data: []byte(want)}
	}
	one(t, CheckGlossary, internal, "")
	internal["eventstore/memory/a.go"] = &fstest.MapFile{Data: []byte("package memory\n\ntype Heap int\n")}
	one(t, CheckGlossary, internal, "eventstore/memory/a.go:3: the name Heap")
}
