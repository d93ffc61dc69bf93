package flags

import (
	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// Deposit adds the flags of what a depositor says of a payload.
func Deposit(c *cobra.Command, d *app.Deposit) {
	f := c.Flags()
	f.StringVar(&d.Profile, "profile", "", "`NAME` of the collection's profile (required)")
	f.StringVar(&d.Submitter, "submitter", "", "`NAME` of the depositor (default your user name)")
	f.StringVar((*string)(&d.Type), "type", "", "`TYPE` of the payload; see above")
	f.StringVar(&d.Mode, "mode", "add", "`MODE`: add the files as they are, or update the files of the object")
	f.StringVar(&d.Primary, "identifier", "", "`ARK` of the one object")
	f.StringArrayVar(&d.LocalIDs, "local-id", nil, "the depositor's own `NAME` of the one object")
	f.StringVar(&d.Digest, "digest", "", "digest of the payload, as `ALGORITHM:HEX`")
	f.StringVar(&d.Title, "title", "", "`TITLE` of the object")
	f.StringVar(&d.Creator, "creator", "", "`CREATOR` of the object")
	f.StringVar(&d.Date, "date", "", "`DATE` of the object")
	f.StringVar(&d.Key, "idempotency-key", "", "make one batch under this `KEY`, however often the deposit is requested")
}
