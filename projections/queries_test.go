package projections_test

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
)

// queries are two that were answered, one that failed and one that waits.
func (w *world) queries() {
	for n, user := range []string{"lea", "tom", "lea", "tom"} {
		q := lookup.Query{ID: domain.NewQueryID(int64(n + 1))}
		ticket := domain.Ticket{Queue: "query", User: user, Slot: int64(n + 1)}
		runs := ticket
		runs.Turn = int64(n + 1)
		commands := []lookup.Command{
			lookup.Receive{Request: asked.Request{Submitter: user, FileName: "shelf.txt", ListURL: "store:list", Size: 90, Lines: 4, Wrong: 1}, Ticket: ticket},
			lookup.Grab{Ticket: runs, Ring: domain.RingPosition{Turn: runs.Turn}, Rule: "round_robin", Processor: "default"},
			lookup.Finish{Answer: asked.Answer{Found: 2, NotFound: 1, Wrong: 1, URL: "store:answers"}},
		}
		switch n {
		case 2:
			commands[2] = lookup.Fail{Reason: domain.Reason{Class: domain.ClassSystem, Code: domain.CodeDigestMismatch, Message: "the list is damaged"}}
		case 3:
			commands = commands[:1]
		}
		for _, cmd := range commands {
			dec, err := lookup.Decide(q, cmd)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range w.record(dec.Events, "") {
				if q, err = lookup.Evolve(q, r); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}
}
