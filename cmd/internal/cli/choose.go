package cli

import (
	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// choose adds the flags that choose events, and checks ids.
func choose(c *cobra.Command, s *app.Selection) {
	flags := c.Flags()
	flags.Uint64Var(&s.From, "from", 0, "first place in the log (`SEQ`, from 1; 0 = the start)")
	flags.Uint64Var(&s.To, "to", 0, "last place in the log (`SEQ`; 0 = the end)")
	flags.Var(&whenFlag{at: &s.Since}, "since", "only what the log took at this `TIME` or later ("+whenHelp+")")
	flags.Var(&whenFlag{at: &s.Until}, "until", "only what the log took before this `TIME`")
	flags.StringVar((*string)(&s.Batch), "batch", "", "only this `BATCH`, its jobs and their files")
	flags.StringVar((*string)(&s.Job), "job", "", "only this `JOB` and its files")
	flags.StringVar((*string)(&s.File), "file", "", "only the file with this `HASH`")
	flags.StringSliceVar(&s.Types, "type", nil, "only events of this `TYPE`, such as job.failed or job.*; several with commas")
	flags.StringSliceVar(&s.Actors, "actor", nil, "only what this `ACTOR` did, such as user/maria or daemon/*; several with commas")
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		for _, check := range []struct {
			word  string
			parse func(string) error
		}{
			{string(s.Batch), func(w string) error { _, err := domain.ParseBatchID(w); return err }},
			{string(s.Job), func(w string) error { _, err := domain.ParseJobID(w); return err }},
			{string(s.File), checkFile},
		} {
			if check.word == "" {
				continue
			}
			if err := check.parse(check.word); err != nil {
				return &usageError{err, c.CommandPath()}
			}
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}
