package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/testkit/history"
)

// at makes an access of the register that lasted from one millisecond to another.
func at(begun, ended int, version int64, command string) history.Access {
	day := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return history.Access{Of: "job/jid0000000001", Value: history.Value{Version: version, Command: command},
		Begun: day.Add(time.Duration(begun) * time.Millisecond), Ended: day.Add(time.Duration(ended) * time.Millisecond)}
}

func wrote(begun, ended int, version int64, command string) history.Access {
	a := at(begun, ended, version, command)
	a.Write = true
	return a
}

func last(a history.Access) history.Access { a.Last = true; return a }

// TestManyLooks: thousands of looks while writes take long are no harder to judge.
func TestManyLooks(t *testing.T) {
	t.Parallel()
	var all []history.Access
	for v := range 20 {
		all = append(all, wrote(0, 1_000_000, int64(v+1), fmt.Sprint(v)))
		for i := range 100 {
			all = append(all, at(1000*v+i, 1000*v+i+500, int64(v+1), fmt.Sprint(v)))
		}
	}
	if faults := history.Linearizable(all); len(faults) > 0 {
		t.Error(faults)
	}
	if faults := history.Linearizable(append(all, at(5500, 5600, 2, "1"))); len(faults) != 1 {
		t.Errorf("an old value that was seen late: found %q", faults)
	}
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		good bool
		all  []history.Access
	}{
		"in order":               {true, []history.Access{at(0, 1, 0, ""), wrote(2, 3, 1, "a"), at(4, 5, 1, "a"), wrote(6, 7, 2, "b"), at(8, 9, 2, "b")}},
		"seen while written":     {true, []history.Access{wrote(0, 1, 1, "a"), wrote(2, 9, 2, "b"), at(3, 4, 2, "b"), at(5, 6, 2, "b")}},
		"not seen while written": {true, []history.Access{wrote(0, 1, 1, "a"), wrote(2, 9, 2, "b"), at(3, 4, 1, "a"), at(5, 6, 2, "b")}},
		"gone":                   {true, []history.Access{wrote(0, 1, 1, "a"), last(wrote(2, 3, 2, "b")), at(4, 5, 0, "")}},

		"a lost update":         {false, []history.Access{wrote(0, 1, 1, "a"), wrote(2, 5, 2, "b"), wrote(3, 4, 2, "c")}},
		"an overwritten one":    {false, []history.Access{wrote(0, 1, 1, "a"), wrote(2, 3, 2, "b"), at(4, 5, 2, "c")}},
		"seen too late":         {false, []history.Access{wrote(0, 1, 1, "a"), wrote(2, 3, 2, "b"), at(4, 5, 1, "a")}},
		"seen too early":        {false, []history.Access{wrote(0, 1, 1, "a"), at(2, 3, 2, "b"), wrote(4, 5, 2, "b")}},
		"back and forth":        {false, []history.Access{wrote(0, 1, 1, "a"), wrote(2, 9, 2, "b"), at(3, 4, 2, "b"), at(5, 6, 1, "a")}},
		"vanished":              {false, []history.Access{wrote(0, 1, 1, "a"), at(2, 3, 0, "")}},
		"written after its end": {false, []history.Access{wrote(0, 1, 1, "a"), last(wrote(2, 3, 2, "b")), wrote(4, 5, 3, "c")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := history.Linearizable(append(c.all, history.Access{Of: "job/jid0000000002", Begun: time.Unix(1, 0), Ended: time.Unix(2, 0)}))
			if (len(faults) == 0) != c.good {
				t.Errorf("found %q", faults)
			}
			if len(faults) > 0 && !strings.HasPrefix(faults[0], "job/jid0000000001 is no compare-and-set register") {
				t.Errorf("found %q", faults[0])
			}
		})
	}
}
