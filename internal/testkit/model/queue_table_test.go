package model_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// combination is one of those of the table in docs/queues.md, in the words of its cells.
type combination struct{ users, preferred, prohibited, allocation, concurrency string }

// fits reports whether a line of the table is about the combination.
func (c combination) fits(cells []string) bool {
	for i, word := range []string{c.users, c.preferred, c.prohibited, c.allocation, c.concurrency} {
		if cells[i] != word && cells[i] != "any" {
			return false
		}
	}
	return true
}

// grabs lets a processor grab until it gets nothing more, and returns whose deposits it
// got. Each user has two. Both rings are asked, and have to agree.
func (c combination) grabs(t *testing.T, beside bool) string {
	t.Helper()
	ring, q, config := &fair.Ring{}, model.NewQueue(), fair.DefaultConfig()
	users := []string{"user"}
	if beside {
		users = []string{"other", "user"}
	}
	for n, user := range slices.Concat(users, users) {
		d := model.Deposit{User: user, ID: user + string(rune('0'+n)), Number: int64(n)}
		q.Put(d)
		ring.Put(user, plain(d))
	}
	if c.prohibited == "yes" {
		config.Prohibited = fair.Users{"user": true}
	}
	if c.allocation == "0" {
		config.Allocation.Of = map[string]int{"user": 0}
	}
	if c.concurrency == "0" {
		config.Concurrency.Of = map[string]int{"user": 0}
	}
	q.Prohibited, q.Allocations, q.Concurrencies = config.Prohibited, config.Allocation.Of, config.Concurrency.Of
	var processor criteria
	if name, how, ok := strings.Cut(strings.TrimPrefix(c.users, "the "), ", "); ok {
		processor.users, processor.exclude = name, how == "excluded"
	}
	if c.preferred == "yes" {
		processor.preferred = "user"
	}
	var got []string
	for {
		d := ring.Grab(config, processor.processor())
		want, rule := q.Grab(processor.model())
		if d.Rule != rules[rule] || d.User != want.User {
			t.Fatalf("%+v: the decision is %+v, the model says %q for %s", c, d, rules[rule], want.User)
		}
		if rule == 0 {
			return strings.Join(got, " ")
		}
		got = append(got, want.User)
		if err := ring.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQueueCombinations compares every combination of what may be said about a user with
// the table in docs/queues.md: the user is required, excluded or neither, or another one
// is required; preferred; prohibited; has allocation 0; has concurrency 0.
func TestQueueCombinations(t *testing.T) {
	t.Parallel()
	lines := table(t)
	used := make([]int, len(lines))
	outcomes := map[string]string{
		"nothing": "", "the user's": "user user", "only the user's": "user user", "only the other's": "other other",
		"first the user's": "user user other other", "both in turn": "other user other user",
	}
	n := 0
	for _, users := range []string{"none", "the user, required", "the user, excluded", "the other, required"} {
		for bits := range 1 << 4 {
			said := func(bit int, no, yes string) string { return []string{no, yes}[bits>>bit&1] }
			c := combination{users, said(0, "no", "yes"), said(1, "no", "yes"), said(2, "1 or more", "0"), said(3, "1 or more", "0")}
			n++
			found := 0
			for i, cells := range lines {
				if !c.fits(cells) {
					continue
				}
				found++
				used[i]++
				for k, beside := range []bool{false, true} {
					want, known := outcomes[cells[5+k]]
					if got := c.grabs(t, beside); !known || got != want {
						t.Errorf("%+v, beside another user: %t: %q is grabbed, the table says %q", c, beside, got, cells[5+k])
					}
				}
			}
			if found != 1 {
				t.Errorf("%+v is in %d lines of the table", c, found)
			}
		}
	}
	if n != 64 || slices.Contains(used, 0) {
		t.Errorf("%d combinations; lines are about %v of them", n, used)
	}
}

// table returns the cells of the table of combinations.
func table(t *testing.T) (lines [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/queues.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "| users of the processor | preferred | prohibited | allocation | concurrency | user alone | behind another user |\n")
	_, rest, _ = strings.Cut(rest, "\n")
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		lines = append(lines, cells)
	}
	if len(lines) == 0 {
		t.Fatal("docs/queues.md has no table of combinations")
	}
	return lines
}
