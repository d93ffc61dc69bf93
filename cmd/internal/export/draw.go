package export

import (
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// chart is which columns of a report's first table are drawn, as bars next to each
// other for each row.
type chart struct {
	label  []string // columns that label a row
	values []string // columns that are bars
	axis   string   // what they measure
}

var charts = map[string]chart{
	"throughput": {label: []string{"day"}, values: []string{"jobs_completed", "jobs_failed", "files_processed"}, axis: "number"},
	"states":     {label: []string{"kind", "status"}, values: []string{"p50", "p95", "p99"}, axis: "seconds"},
}

// palette can be told apart with colour blindness too.
var palette = []color.Color{color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}}

// maxDrawn is how many rows a chart has room for; of more, the last are drawn.
const maxDrawn = 60

// draw draws the report's first table.
func draw(w io.Writer, r app.Report, o ReportOptions) error {
	c, ok := charts[r.Name]
	if !ok {
		return &app.Error{Kind: app.Invalid, What: "report " + r.Name, Err: errors.New("it has no chart"), Hint: "`accession report ls` shows which reports have one"}
	}
	t := r.Tables[0]
	at := map[string]int{}
	for i, col := range t.Columns {
		at[col.Name] = i
	}
	labels, values, err := c.read(t, at, o)
	if err != nil {
		return err
	}
	b := bars{title: r.Title, axis: c.axis, none: t.None, labels: labels}
	for i, name := range c.values {
		b.series = append(b.series, series{t.Columns[at[name]].Label, values[i]})
	}
	return b.draw(w, o.Format)
}

// bars is a chart: a bar of each series next to each other for each label.
type bars struct {
	title, axis string
	none        string // below a chart without labels
	labels      []string
	series      []series
}

type series struct {
	name   string
	values plotter.Values
}

func (b bars) draw(w io.Writer, format string) error {
	p := plot.New()
	p.Title.Text, p.Title.Padding = b.title, vg.Points(8)
	p.Y.Label.Text, p.Y.Min = b.axis, 0
	p.Legend.Top, p.Legend.Padding = true, vg.Points(3)
	p.Add(plotter.NewGrid())
	width := vg.Points(14)
	for i, s := range b.series {
		if len(b.labels) == 0 { // plotter refuses a chart without bars
			break
		}
		chart, err := plotter.NewBarChart(s.values, width)
		if err != nil {
			return fmt.Errorf("draw %s: %w", s.name, err)
		}
		chart.Color, chart.LineStyle.Width = palette[i%len(palette)], 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(b.series)-1)/2)
		p.Add(chart)
		p.Legend.Add(s.name, chart)
	}
	if len(b.labels) > 0 {
		p.NominalX(b.labels...)
		p.X.Min, p.X.Max = -0.6, float64(len(b.labels))-0.4 // whole bars at both ends
		p.X.Tick.Label.Rotation = 0.6
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = -1, -0.5
	} else {
		p.X.Label.Text = b.none
		p.HideX()
	}
	if p.Y.Max *= 1.25; p.Y.Max <= 0 { // room for the legend
		p.Y.Max = 1
	}
	size := max(vg.Points(640), vg.Length(len(b.labels))*width*vg.Length(len(b.series)+1)+vg.Points(120))
	out, err := p.WriterTo(size, vg.Points(400), format)
	if err != nil {
		return fmt.Errorf("draw %s: %w", b.title, err)
	}
	_, err = out.WriteTo(w)
	return err
}

// read returns the labels and values of the rows; at are the positions of columns.
func (c chart) read(t app.Table, at map[string]int, o ReportOptions) (labels []string, values []plotter.Values, err error) {
	values = make([]plotter.Values, len(c.values))
	for row, err := range t.Rows {
		if err != nil {
			return nil, nil, err
		}
		label := ""
		for _, name := range c.label {
			label += " " + people(row[at[name]])
		}
		labels = append(labels, label[1:])
		for i, name := range c.values {
			v, _ := row[at[name]].(float64)
			n, _ := row[at[name]].(int64)
			values[i] = append(values[i], v+float64(n)) // one of them is 0
		}
		o.Row()
	}
	from := max(len(labels)-maxDrawn, 0)
	for i := range values {
		values[i] = values[i][from:]
	}
	return labels[from:], values, nil
}

// DrawSimulation draws how long the deposits of users waited, of those with the most
// deposits, in format svg or png.
func DrawSimulation(w io.Writer, c simulate.Comparison, format string) error {
	b := bars{title: "Wait by user", axis: "seconds, p95", none: "no users"}
	turns, inOrder := plotter.Values{}, plotter.Values{}
	for _, u := range c.Users[:min(len(c.Users), maxDrawn)] {
		b.labels = append(b.labels, Line(u.Name))
		turns, inOrder = append(turns, u.Fair.P95.Seconds()), append(inOrder, u.FIFO.P95.Seconds())
	}
	b.series = []series{{"in turn", turns}, {"first in, first out", inOrder}}
	return b.draw(w, format)
}
