package profiles

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	reference "github.com/accession-ingest/accession/deploy/profiles"
)

// init is the command that writes a new profile.
func (e Env) init() *cobra.Command {
	var collection, owner, naan, shoulder string
	c := &cobra.Command{
		Use:   "init PROFILE",
		Short: "Write a new profile that explains every field",
		Long: `Write a new profile to the standard output: every field with its default and what it
does. Put it into profiles_dir as PROFILE.yaml, or set it while the service runs.`,
		Example: "  accession profile init maps --owner \"Map library\" --naan 99999 --shoulder fk4 > maps.yaml\n  accession profile set maps maps.yaml --reason \"a new collection\"",
		Args:    exactly(1, "one profile"),
	}
	c.Flags().StringVar(&collection, "collection", "", "the `COLLECTION` that it describes (default PROFILE)")
	c.Flags().StringVar(&owner, "owner", "", "`WHO` answers for the collection (required)")
	c.Flags().StringVar(&naan, "naan", "", "name-assigning `NUMBER` of the identifiers; 99999 is for tests (required)")
	c.Flags().StringVar(&shoulder, "shoulder", "", "`PREFIX` of every identifier: consonants and a digit (required)")
	c.RunE = e.Anywhere(func(_ context.Context, args []string) error {
		text := fresh(map[string]string{"name": args[0], "collection": cmp.Or(collection, args[0]), "owner": owner, "  naan": naan, "  shoulder": shoulder})
		if err := profiles.CheckFile(args[0]+".yaml", text); err != nil {
			return &app.Error{Kind: app.Invalid, What: "make a profile", Err: err, Hint: "`accession profile init --help` shows what is needed"}
		}
		_, err := e.Out.Write(text)
		return err
	})
	return c
}

// fresh returns the reference profile with other values of some fields.
func fresh(values map[string]string) []byte {
	var text strings.Builder
	for line := range strings.Lines(string(reference.Reference)) {
		key, rest, _ := strings.Cut(line, ": ")
		if value, is := values[key]; is {
			quoted, _ := json.Marshal(value) // a text of JSON is one of YAML; it never fails
			_, comment, _ := strings.Cut(rest, "#")
			line = fmt.Sprintf("%s: %s  #%s", key, quoted, comment)
		}
		text.WriteString(line)
	}
	return []byte(text.String())
}
