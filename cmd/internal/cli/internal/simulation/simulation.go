// Package simulation has the command that compares waiting times.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/recorded"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// Env is what the command has of the program.
type Env struct {
	// Run returns the work of a command.
	Run func(do func(ctx context.Context, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
}

// simulating is what the flags of the command say.
type simulating struct {
	simulate.Load
	seed                    uint64
	allocation, concurrency int
	from, plot              string
	limit                   int
}

// Command returns the command simulate.
func Command(e Env) *cobra.Command {
	var s simulating
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Compare waiting times in turn and first in, first out",
		Long: `Serve deposits in virtual time, once by the rules of the deposit queue (users in turn,
with an allocation and a concurrency) and once first in, first out, with as many
servers, and compare how long the deposits of each user waited. No server is asked and
nothing is changed.

Deposits are generated: their users by a Zipf distribution, so that few users have most
of them, arrivals and service times at random. The same --seed makes the same deposits.
With --from they are those of events as ` + "`accession replay --format jsonl`" + ` writes
them: each batch from its submission. One that was grabbed takes a server for as long as
it took from then to its report, and how long it really waited is shown beside; any
other takes one from its submission, what it waited there included.

Every user has the same allocation and concurrency, and one processor without criteria
serves them: limits of single users, criteria of processors, suspensions, synchronous
deposits and queries are left out, also with --from.`,
		Example: `  accession queue simulate
  accession queue simulate --users 50 --deposits 5000 --servers 8 --skew 1.2 --seed 7
  accession queue simulate --concurrency 2 --seed 7 --plot waits.svg
  accession replay --type batch.submitted,batch.released,batch.grabbed,batch.completed,batch.failed --since 30d --format jsonl --out month.jsonl
  accession queue simulate --from month.jsonl --servers 4 -o json`,
		Args: cobra.NoArgs,
	}
	c.PreRunE = func(*cobra.Command, []string) error {
		for _, name := range []string{"users", "deposits", "skew", "seed", "use", "service"} {
			if s.from != "" && c.Flags().Changed(name) {
				return fmt.Errorf("--%s is for generated deposits: leave it out with --from", name)
			}
		}
		if format := s.format(); s.plot != "" && format != export.FormatSVG && format != export.FormatPNG {
			return fmt.Errorf("--plot %s: give a file that ends in .svg or .png", s.plot)
		}
		if !c.Flags().Changed("seed") {
			s.seed = uint64(rand.Uint32())
		}
		return nil
	}
	c.RunE = e.Run(func(context.Context, []string) error { return s.run(e) })
	number := func(to *int, name string, preset int, help string) {
		flags.Parsed(c, to, name, strconv.Itoa(preset), help, func(text string) (int, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > maxSimulated {
				return 0, fmt.Errorf("give a whole number from 1 to %d", maxSimulated)
			}
			return n, nil
		})
	}
	number(&s.Users, "users", 100, "`N` users deposit")
	number(&s.Deposits, "deposits", 10_000, "`N` deposits of all users together")
	number(&s.Servers, "servers", 8, "`N` deposits are served at once")
	number(&s.allocation, "allocation", fair.DefaultAllocation, "`N` deposits of a user are served in one turn")
	number(&s.concurrency, "concurrency", fair.DefaultConcurrency, "`N` deposits of a user are served at once")
	positive := func(least float64) func(string) (float64, error) {
		return func(text string) (float64, error) {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(f) || f < least || f > 100 {
				return 0, fmt.Errorf("give a number from %g to 100", least)
			}
			return f, nil
		}
	}
	flags.Parsed(c, &s.Skew, "skew", "1", "exponent `X` of the Zipf distribution; 0 = all users deposit alike", positive(0))
	flags.Parsed(c, &s.Use, "use", "1.1", "deposits keep `X` times the servers busy; above 1 the queue grows", positive(0.01))
	flags.Parsed(c, &s.Service, "service", "1m", "a deposit takes this `DURATION` on average", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Millisecond || d > 24*time.Hour {
			return 0, errors.New("give a duration from 1ms to 24h")
		}
		return d, nil
	})
	c.Flags().Uint64Var(&s.seed, "seed", 0, "generate the deposits of this `SEED` (default: another each time, which is shown)")
	c.Flags().StringVar(&s.from, "from", "", "take deposits from this `FILE` of events, as lines of JSON")
	c.Flags().StringVar(&s.plot, "plot", "", "draw the waits into this new `FILE`, which ends in .svg or .png")
	flags.Limit(c, &s.limit, 20, "users in the table")
	return c
}

// maxSimulated bounds the memory and time of a simulation.
const maxSimulated = 1_000_000

// format returns the format that the name of the plot says.
func (s *simulating) format() string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(s.plot), "."))
}

func (s *simulating) run(e Env) error {
	out := views.Simulation{Servers: s.Servers, Allocation: s.allocation, Concurrency: s.concurrency}
	source := s.from
	var arrivals []simulate.Arrival
	if s.from != "" {
		f, err := os.Open(s.from)
		if err != nil {
			return exit.Usagef("%w", err)
		}
		arrivals, out.Unreported, err = recorded.Arrivals(f)
		_ = f.Close() // it was only read
		if err != nil {
			return exit.Usagef("%s: %w", s.from, err)
		}
	} else {
		out.Seed, source = &s.seed, fmt.Sprintf("seed %d", s.seed)
		arrivals = simulate.Generate(s.Load, rand.New(rand.NewPCG(s.seed, 0)).Float64)
	}
	config := fair.Config{Allocation: fair.Limit{Default: s.allocation}, Concurrency: fair.Limit{Default: s.concurrency}}
	c, err := simulate.Compare(arrivals, s.Servers, config)
	if err != nil {
		return err
	}
	if s.plot != "" {
		if err := export.File(s.plot, func(w io.Writer) error { return export.DrawSimulation(w, c, s.format()) }); err != nil {
			return err
		}
	}
	out.Set(c)
	return e.Show(out, func(w io.Writer) { out.Write(w, c, source, s.limit) })
}
