package export

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // machines and images may have no zones

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// Zoned are the formats whose times are written in a zone of the reader's choice.
var Zoned = []string{FormatText, FormatHTML, FormatMail}

// Zone returns the time zone of a name of the IANA time zone database, "" = UTC, in which a report
// of a format is written.
func Zone(name, format string) (*time.Location, error) {
	fault := func(err error, hint string) error {
		return &app.Error{Kind: app.Invalid, What: "time zone " + Line(name), Err: err, Hint: hint}
	}
	if name == "" {
		return time.UTC, nil
	}
	if !slices.Contains(Zoned, format) {
		return nil, fault(fmt.Errorf("times in %s are in UTC", cmp.Or(format, "this format")), "leave the zone out, or choose text or html")
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // that of the process, which the reader does not know
		return nil, fault(errors.New("there is no such zone"), "give a name of the IANA time zone database, such as Europe/Berlin, or leave it out for UTC")
	}
	return zone, nil
}

// zone returns the zone of times.
func (o ReportOptions) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}
