package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain/text"
)

// Letter is what a mail to a depositor says.
type Letter struct {
	Subject, Text string
	HTML          string        // the same as a page, "" = plain text is all
	Files         []notify.File // attached
}

// LetterOf returns the mail with a report: in words and as a page, with its jobs as a table
// (CSV) and the whole of it (JSON) attached. note stands before it, "" = none. What is too
// large for a mail is not attached, which the mail says.
func LetterOf(p profile.Profile, r Body, note string) (Letter, error) {
	l := Letter{Subject: Subject(r)}
	table, err := CSV(r)
	if err != nil {
		return l, err
	}
	whole, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return l, fmt.Errorf("encode the report: %w", err)
	}
	name := fmt.Sprintf("%s-%s", r.Batch, r.Kind)
	attached := fmt.Sprintf("Attached: %s.csv, the jobs as a table, and %s.json, the whole report.", name, name)
	if len(table)+len(whole) <= notify.MaxAttachments {
		l.Files = []notify.File{{Name: name + ".csv", Type: "text/csv", Data: table}, {Name: name + ".json", Type: "application/json", Data: whole}}
	} else {
		attached = fmt.Sprintf("The whole report is too large for a mail. These commands show it: `accession report batch --batch %s --format csv`, or json.", r.Batch)
	}
	if note != "" {
		l.Text = note + "\n\n"
	}
	l.Text += Text(p, r) + "\n" + attached + "\n"
	var page bytes.Buffer
	if err := pageOf(p, r, note, attached).Write(&page); err != nil {
		return l, fmt.Errorf("write the page of a report: %w", err)
	}
	l.HTML = page.String()
	return l, nil
}

// CSV returns the jobs of a report as a table in UTF-8, as RFC 4180 defines it but with a line
// feed at the end of lines. No cell is taken for a formula by a spreadsheet.
func CSV(r Body) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{"job_id", "row", "state", "name", "title", "payload_url", "primary_id", "local_id", "version", "reason_code", "reason_message", "who_acts", "newly_successful", "left_out", "warnings"})
	for _, jobs := range [][]Job{r.Jobs, r.Unexplained} {
		for _, j := range jobs {
			row := []string{string(j.ID), strconv.Itoa(j.Row), string(j.State), j.Name, j.Title, j.URL, j.Primary, strings.Join(j.LocalID, "; "), "", "", "", "",
				strconv.FormatBool(j.New), strings.Join(j.LeftOut, "\n"), strings.Join(j.Warnings, "\n")}
			if j.Version > 0 {
				row[8] = strconv.Itoa(j.Version)
			}
			if why := j.Reason; why != nil {
				row[9], row[10], row[11] = string(why.Code), why.Message, string(why.Class.WhoActs())
			}
			for i := range row {
				row[i] = text.Cell(row[i])
			}
			_ = w.Write(row)
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}
