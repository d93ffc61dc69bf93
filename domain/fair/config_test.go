package fair_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/fair"
)

// TestCheckOfConfigurations: every number below 0 is named.
func TestCheckOfConfigurations(t *testing.T) {
	t.Parallel()
	c := fair.DefaultConfig()
	c.Concurrency.Of = map[string]int{"zoe": 0}
	if err := errors.Join(c.Check(), fair.Processor{MaxSize: 1}.Check()); err != nil {
		t.Error(err)
	}
	c.Allocation.Default, c.Concurrency.Of, c.Synchronous = -1, map[string]int{"ben": -2, "ana": -3}, -4
	var said []string
	for line := range strings.Lines(fmt.Sprint(c.Check(), "\n", fair.Processor{MaxSize: -1}.Check())) {
		said = append(said, strings.TrimSpace(strings.SplitN(line, ":", 2)[0]))
	}
	if want := []string{"the default allocation is -1", "the concurrency of ana is -3", "the concurrency of ben is -2", "the limit of synchronous deposits is -4", "the largest size is -1 bytes"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// TestParseUsers: a list may be read from a file, so it may have several lines.
func TestParseUsers(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"": nil, " ,, ": nil, "ana": {"ana"}, "ana,ben": {"ana", "ben"}, " ana , ben,": {"ana", "ben"}, "ana ana": {"ana"},
		"ana\r\n\tben\n": {"ana", "ben"}, "a\u00a0b": {"a\u00a0b"},
	} {
		if got := slices.Sorted(maps.Keys(fair.ParseUsers(list))); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func FuzzParseUsers(f *testing.F) {
	for _, list := range []string{"", "ana, ben", " ,creftest,taylor  springer,", "ana\nben\t\r", "a\u00a0b", "\xff,\x00"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		users := fair.ParseUsers(list)
		const separators = " ,\t\r\n"
		rest := list
		for _, user := range slices.SortedFunc(maps.Keys(users), func(a, b string) int { return len(b) - len(a) }) {
			if user == "" || strings.ContainsAny(user, separators) || !users[user] {
				t.Errorf("%q is a user of %q", user, list)
			}
			if rest = strings.ReplaceAll(rest, user, ""); !strings.Contains(list, user) {
				t.Errorf("%q is not in %q", user, list)
			}
		}
		if rest = strings.Trim(rest, separators); rest != "" {
			t.Errorf("%q is of no user of %q", rest, list)
		}
		if again := fair.ParseUsers(strings.Join(slices.Collect(maps.Keys(users)), ", ")); !maps.Equal(again, users) {
			t.Errorf("%q is %v once and %v again", list, users, again)
		}
	})
}

func FuzzConfigCheck(f *testing.F) {
	f.Add("ana ben", 1, 5, 0, -1)
	f.Add("", -1, 0, 2, 2)
	f.Fuzz(func(t *testing.T, list string, allocation, concurrency, own, others int) {
		c := fair.DefaultConfig()
		c.Allocation.Default, c.Concurrency.Default = allocation, concurrency
		c.Allocation.Of, c.Concurrency.Of = map[string]int{}, map[string]int{}
		numbers := []int{allocation, concurrency}
		for user := range fair.ParseUsers(list) {
			c.Allocation.Of[user], c.Concurrency.Of[user] = own, others
			numbers = append(numbers, own, others)
		}
		faults := len(slices.DeleteFunc(numbers, func(n int) bool { return n >= 0 }))
		err := c.Check()
		if got := strings.Count(fmt.Sprint(err), ": give 0 or more"); (err == nil) != (faults == 0) || !strings.Contains(list, "give") && got != faults {
			t.Errorf("%d faults of %+v: %v", faults, c, err)
		}
	})
}
