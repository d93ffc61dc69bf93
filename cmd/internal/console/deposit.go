package console

import (
	"crypto/rand"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// uploadsPath is where pages send files in pieces: what comes there goes on to the uploads of the
// API.
const uploadsPath, uploadsOfAPI = Path + "uploads", "/v1/resumable-uploads"

// depositForm is the page of a new deposit.
type depositForm struct {
	Profiles []string
	Types    []string
	Fields   map[string]string // as they were sent
	Key      string
	Problem  *problem.Problem
}

// deposited are the fields of the form, besides the file: as the API has them.
var deposited = append([]string{"url", "key"}, described...)

// described are those that say what it is, which the address of the form may have too.
var described = []string{"profile", "type", "title", "creator", "date", "identifier"}

// mayDeposit reports whether the caller deposits anywhere.
func mayDeposit(s people.Self) bool {
	return slices.ContainsFunc(s.Rights, func(r people.Right) bool { return r.Role == access.Depositor || r.Role == access.Admin })
}

func (*Console) newDeposit(v *visit) (page, error) {
	fields := map[string]string{}
	for _, name := range described {
		fields[name] = v.URL.Query().Get(name)
	}
	return depositPage(v, fields, nil)
}

// again leads to the form as a batch was deposited, for who mends what has failed.
func again(v *visit, b app.BatchView) []doable {
	if b.At != nil || !mayDeposit(v.Self) || b.Status != string(domain.BatchFailed) {
		return nil
	}
	as := url.Values{"profile": {b.ProfileName}, "type": {b.Type}, "title": {b.ErcWhat}}
	return []doable{{"Deposit it again, mended", form.Address(Path+"new", as, "", "")}}
}

func depositPage(v *visit, fields map[string]string, p *problem.Problem) (page, error) {
	all, err := ask.Get[app.Page[operation.ProfileItem]](v, "profile.ls", nil)
	if err != nil {
		return page{}, err
	}
	d := depositForm{Types: texts(domain.SubmissionTypes), Fields: fields, Key: rand.Text(), Problem: p}
	for _, item := range all.Items {
		d.Profiles = append(d.Profiles, item.Name)
	}
	shows := page{Name: "new", Title: "New deposit", Where: "new", Data: d}
	if p != nil {
		shows.Status = p.Status
	}
	return shows, nil
}

// deposit makes a deposit of a form: of its file, as it arrives, or of the URL that it names.
func (c *Console) deposit(w http.ResponseWriter, r *http.Request) {
	v := &visit{Request: r, API: c.API}
	fields, to, err := c.sent(w, v)
	p := page{To: to, Status: http.StatusSeeOther}
	refused := &problem.Problem{}
	if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError {
		if v.Self, err = ask.Get[people.Self](v, "self.show", nil); err == nil {
			p, err = depositPage(v, fields, refused)
		}
	}
	if err != nil {
		p = c.failed(r, err)
	}
	p.Self = v.Self
	c.send(w, r, p)
}

// sent reads the form, whose file comes last, and returns where to look what becomes of the
// deposit.
func (c *Console) sent(w http.ResponseWriter, v *visit) (fields map[string]string, to string, err error) {
	fields = map[string]string{}
	form, err := v.MultipartReader()
	if err != nil {
		return fields, "", problem.Of(app.Invalid, "the form cannot be read", "send it from its page")
	}
	for {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return c.byURL(v, fields)
		case err != nil:
			return fields, "", problem.Of(app.Invalid, "the form cannot be read to its end", "send it again")
		case part.FormName() == "file" && part.FileName() != "":
			if fields["url"] != "" {
				return fields, "", problem.Of(app.Invalid, "there are a file and a URL", "leave one of them out")
			}
			return c.byFile(w, v, fields, part)
		case slices.Contains(deposited, part.FormName()):
			text, err := io.ReadAll(io.LimitReader(part, maxForm))
			if err != nil {
				return fields, "", problem.Of(app.Invalid, "the form cannot be read to its end", "send it again")
			}
			fields[part.FormName()] = strings.TrimSpace(string(text))
		}
	}
}

// byFile deposits the file of a form.
func (c *Console) byFile(w http.ResponseWriter, v *visit, fields map[string]string, file *multipart.Part) (map[string]string, string, error) {
	query := url.Values{"name": {file.FileName()}}
	for name, value := range fields {
		if value != "" && name != "url" && name != "key" {
			query.Set(name, value)
		}
	}
	r, err := v.Operation("upload.create", query)
	if err != nil {
		return fields, "", err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	if key := fields["key"]; key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	r.Body, r.ContentLength = file, -1
	s, err := ask.WithBodyOf[drops.Shown](c.API, r, w)
	return fields, toDeposit(s.ID), err
}

// byURL deposits what a URL names.
func (c *Console) byURL(v *visit, fields map[string]string) (map[string]string, string, error) {
	if fields["url"] == "" {
		return fields, "", problem.Of(app.Invalid, "there is neither a file nor a URL", "choose a file, or name where the payload is on the Web")
	}
	body := operation.SubmissionBody{About: operation.About{Profile: fields["profile"], Type: fields["type"], Title: fields["title"], Creator: fields["creator"], Date: fields["date"], Identifier: fields["identifier"]}, URL: fields["url"]}
	header := http.Header{}
	if key := fields["key"]; key != "" {
		header.Set("Idempotency-Key", key)
	}
	s, refused, err := ask.Try[app.Submitted](v, "submission.create", nil, body, header)
	switch {
	case err != nil:
		return fields, "", err
	case refused != nil:
		return fields, "", refused
	}
	return fields, toBatch(string(s.Batch)), nil
}

func toDeposit(id string) string { return Path + "deposits/" + url.PathEscape(id) }

// uploadPage is what became of a file that was deposited.
type uploadPage struct {
	drops.Shown
	Actions []doable
	Facts   []fact
}

func (*Console) uploaded(v *visit) (page, error) {
	s, err := ask.Get[drops.Shown](v, "upload.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	if s.Batch != "" {
		return page{To: toBatch(string(s.Batch)), Status: http.StatusSeeOther}, nil
	}
	d := uploadPage{Shown: s, Facts: facts("File", s.FileName, "Size", cell.Size(s.Size), "SHA-256", s.SHA256, "Profile", s.Profile, "Received", s.Received, "Deposit", s.ID), Actions: actionsOn(v, "deposits", s.ID, everything, nil)}
	return page{Name: "deposit", Title: cell.Short(s.FileName), Where: "new", Again: true, Data: d}, nil
}

// pieces takes a file in pieces, as the API does.
func (c *Console) pieces(w http.ResponseWriter, r *http.Request) {
	on := r.Clone(r.Context())
	on.URL.Path, on.URL.RawPath = uploadsOfAPI+strings.TrimPrefix(r.URL.Path, uploadsPath), ""
	on.Header.Del("Authorization")
	on.Header.Del("Cookie")
	c.API.ServeHTTP(&leading{w}, on)
}

// leading is an answer that leads to pages, and not to the API.
type leading struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (l *leading) WriteHeader(status int) {
	to := l.Header().Get("Location")
	if id, ok := strings.CutPrefix(to, uploadsOfAPI+"/"); ok {
		l.Header().Set("Location", uploadsPath+"/"+id)
	} else if id, ok := strings.CutPrefix(to, "/v1/uploads/"); ok {
		l.Header().Set("Location", toDeposit(id))
	}
	l.ResponseWriter.WriteHeader(status)
}

// Unwrap makes other things of the library's answer work.
func (l *leading) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// reports lists the reports, or those that are about a batch.
type reportsPage struct {
	List []reportLinks
}

// reportLinks are the ways to a report.
type reportLinks struct {
	Name, About string
	Formats     []doable
}

func (*Console) reports(v *visit) (page, error) {
	all, err := ask.Get[app.Page[app.ReportKind]](v, "report.ls", nil)
	if err != nil {
		return page{}, err
	}
	batch, d := v.URL.Query().Get("batch"), reportsPage{}
	for _, kind := range all.Items {
		if kind.Batch != (batch != "") {
			continue
		}
		l := reportLinks{Name: kind.Name, About: kind.About}
		formats := []string{"html", "csv", "json", "text"}
		if kind.Plot {
			formats = append(formats, "svg")
		}
		for _, format := range formats {
			query := url.Values{"format": {format}}
			if batch != "" {
				query.Set("batch", batch)
			}
			l.Formats = append(l.Formats, doable{format, Path + "reports/" + url.PathEscape(kind.Name) + "?" + query.Encode()})
		}
		d.List = append(d.List, l)
	}
	title := "Reports"
	if batch != "" {
		title = "Reports on " + cell.Short(batch)
	}
	return page{Name: "reports", Title: title, Where: "reports", Data: d}, nil
}

// reportPolicy lets the page of a report have its own style, and nothing else.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// report sends a report as the API does; one that a browser does not show is kept as a file.
func (c *Console) report(w http.ResponseWriter, r *http.Request) {
	v := &visit{Request: r, API: c.API}
	query, err := v.Parameters()
	if err == nil && query.Get("format") == "" {
		query.Set("format", "html")
	}
	var toAPI *http.Request
	if err == nil {
		toAPI, err = v.Operation("report.show", query, r.PathValue("name"))
	}
	if err != nil {
		c.send(w, r, c.failed(r, err))
		return
	}
	c.API.ServeHTTP(&asReport{ResponseWriter: w, c: c, r: r}, toAPI)
}

// asReport is the answer of a report.
type asReport struct {
	http.ResponseWriter
	c      *Console
	r      *http.Request
	refuse *ask.Answer // that it cannot be made
}

// WriteHeader implements http.ResponseWriter.
func (a *asReport) WriteHeader(status int) {
	if status >= http.StatusMultipleChoices && status != http.StatusNotModified {
		a.refuse = &ask.Answer{Status: status}
		return
	}
	a.Header().Set("Content-Security-Policy", reportPolicy)
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *asReport) Write(p []byte) (int, error) {
	if a.refuse == nil {
		a.Header().Set("Content-Security-Policy", reportPolicy)
		return a.ResponseWriter.Write(p)
	}
	a.Header().Del("Content-Type")
	a.refuse.Body.Write(p)
	if err := ask.Problem(a.refuse); isProblem(err) {
		a.c.send(a.ResponseWriter, a.r, a.c.failed(a.r, err))
	}
	return len(p), nil
}

func isProblem(err error) bool {
	_, is := errors.AsType[*problem.Problem](err)
	return is
}

// Unwrap makes other things of the library's answer work.
func (a *asReport) Unwrap() http.ResponseWriter { return a.ResponseWriter }
