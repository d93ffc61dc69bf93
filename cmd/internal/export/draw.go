package export

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/page"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// chart is which columns of a report's first table are drawn, as bars next to each
// other for each row.
type chart struct {
	label  []string // columns that label a row
	values []string // columns that are bars
	axis   string   // what they measure
	times  bool     // they are seconds
}

var charts = map[string]chart{
	"throughput": {label: []string{"day"}, values: []string{"jobs_completed", "jobs_failed", "files_processed"}, axis: "number"},
	"states":     {label: []string{"kind", "status"}, values: []string{"p50", "p95", "p99"}, axis: "time", times: true},
}

// palette can be told apart with colour blindness too.
var palette = []color.Color{color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}}

// maxDrawn is how many rows a chart has room for; of more, the last are drawn.
const maxDrawn = 60

// draw draws the report's first table.
func draw(w io.Writer, r app.Report, o ReportOptions) error {
	d := drawingOf(r)
	if d == nil {
		return &app.Error{Kind: app.Invalid, What: "report " + r.Name, Err: errors.New("it has no chart"), Hint: "`accession report ls` shows which reports have one"}
	}
	for row, err := range r.Tables[0].Rows {
		if err != nil {
			return err
		}
		d.add(row)
		o.Row()
	}
	return d.bars().draw(w, o.Format)
}

// drawing is what is drawn of the rows of a report's first table.
type drawing struct {
	chart
	title  string
	table  app.Table
	at     map[string]int // the positions of columns
	labels []string
	series [][]float64 // of each of the values
}

// drawingOf returns a drawing without rows, nil for a report that has no chart.
func drawingOf(r app.Report) *drawing {
	c, ok := charts[r.Name]
	if !ok {
		return nil
	}
	d := &drawing{chart: c, title: r.Title, table: r.Tables[0], at: map[string]int{}, series: make([][]float64, len(c.values))}
	for i, col := range d.table.Columns {
		d.at[col.Name] = i
	}
	return d
}

// add takes the next row; of more than maxDrawn, the last are kept.
func (d *drawing) add(row []any) {
	if len(d.labels) == maxDrawn {
		d.labels = d.labels[1:]
		for i := range d.series {
			d.series[i] = d.series[i][1:]
		}
	}
	label := ""
	for _, name := range d.label {
		label += " " + ReportOptions{}.people(row[d.at[name]])
	}
	d.labels = append(d.labels, label[1:])
	for i, name := range d.values {
		v, _ := row[d.at[name]].(float64)
		n, _ := row[d.at[name]].(int64)
		d.series[i] = append(d.series[i], v+float64(n)) // one of them is 0
	}
}

func (d *drawing) bars() bars {
	b := bars{title: d.title, axis: d.axis, times: d.times, none: d.table.None, labels: d.labels}
	for i, name := range d.values {
		b.series = append(b.series, series{d.table.Columns[d.at[name]].Label, d.series[i]})
	}
	return b
}

// element draws as SVG elements of a page: one for wide pages, and one for a phone, of which the
// page shows one.
func (d *drawing) element() (template.HTML, error) {
	var all strings.Builder
	for _, c := range []struct {
		class string
		draw  func(bars, io.Writer, string) error
	}{{"wide", bars.draw}, {"phone", bars.drawForPhone}} {
		var out bytes.Buffer
		if err := c.draw(d.bars(), &out, FormatSVG); err != nil {
			return "", err
		}
		_, svg, _ := bytes.Cut(out.Bytes(), []byte("<svg "))
		all.WriteString(`<svg class="` + c.class + `" role="img" aria-label="` + html.EscapeString("Chart: "+d.title) + `" ` + string(svg))
	}
	return template.HTML(all.String()), nil //nolint:gosec // the library escapes all text
}

// bars is a chart: a bar of each series next to each other for each label.
type bars struct {
	title, axis string
	times       bool   // the values are seconds, and so far apart that the axis is logarithmic
	none        string // below a chart without labels
	labels      []string
	series      []series
}

type series struct {
	name   string
	values plotter.Values
}

// times are the marks of an axis of times.
var times = []struct {
	seconds float64
	label   string
}{{.1, "0.1 s"}, {1, "1 s"}, {10, "10 s"}, {60, "1 min"}, {600, "10 min"}, {3600, "1 h"}, {86400, "1 d"}, {10 * 86400, "10 d"}, {100 * 86400, "100 d"}, {1000 * 86400, "1,000 d"}}

// height returns how high a bar of a time is: nothing up to the first mark.
func height(seconds float64) float64 { return math.Log10(max(seconds/times[0].seconds, 1)) }

// typeface is that of all texts of a chart. Where it is not installed, others without serifs
// take its place.
const typeface = "Liberation Sans"

// draw draws bars that stand next to each other.
func (b bars) draw(w io.Writer, format string) error {
	p := b.plot(12)
	p.Y.Label.Text, p.Y.Min = b.axis, 0
	each := vg.Points(min(14*float64(len(b.series)+1), 900/float64(max(len(b.labels), 1)))) // for a label
	if err := b.add(p, each, func(*plotter.BarChart) {}); err != nil {
		return err
	}
	if len(b.labels) > 0 {
		p.NominalX(b.labels...)
		p.X.Min, p.X.Max = -0.6, float64(len(b.labels))-0.4 // whole bars at both ends
		if p.X.Tick.Label.Rotation = 0.6; each < 2*p.X.Tick.Label.Font.Size {
			p.X.Tick.Label.Rotation = math.Pi / 2
		}
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = -1, -0.5
	} else {
		p.X.Label.Text = b.none
		p.HideX()
	}
	b.scale(&p.Y, 1.25) // room for the legend
	return b.write(w, p, max(vg.Points(640), vg.Length(len(b.labels))*each+vg.Points(120)), vg.Points(400), format)
}

// drawForPhone draws bars that lie below each other, in the width of a phone: all labels can be read
// there without being turned, and nothing is cut off.
func (b bars) drawForPhone(w io.Writer, format string) error {
	const each = 16 // points for a label, and for a line of the legend
	p := b.plot(8)
	p.Title.Text = "" // the page has it, and there is no room
	p.X.Label.Text, p.X.Min = b.axis, 0
	p.Y.Padding = 10 // where another typeface is wider
	n := len(b.labels)
	down := b
	down.labels, down.series = slices.Clone(b.labels), slices.Clone(b.series) // the first is the uppermost
	slices.Reverse(down.labels)
	for i, s := range down.series {
		down.series[i].values = slices.Clone(s.values)
		slices.Reverse(down.series[i].values)
	}
	if err := down.add(p, each, func(c *plotter.BarChart) { c.Horizontal, c.Offset = true, -c.Offset }); err != nil {
		return err
	}
	above := float64(len(b.series)) // the legend
	if n > 0 {
		p.NominalY(down.labels...)
		p.Y.Min, p.Y.Max = -0.6, float64(n)-0.4+above
	} else {
		p.X.Label.Text = b.none
		p.HideY()
	}
	b.scale(&p.X, 1.25) // room for its last label
	if b.times {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/2, -1, -0.5
	}
	return b.write(w, p, 240, vg.Points(max(160, (float64(n)+above)*each+80)), format)
}

// plot returns a plot without bars, with texts of a size in points.
func (b bars) plot(size font.Length) *plot.Plot {
	p := plot.New()
	for _, f := range []*font.Font{&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		f.Variant, f.Size = "Sans", min(f.Size, size)
	}
	p.Title.TextStyle.Font.Variant = "Sans"
	p.Title.Text, p.Title.Padding = b.title, vg.Points(8)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	p.Add(plotter.NewGrid())
	return p
}

// add adds the bars, where a label has so much room; laid lays each series.
func (b bars) add(p *plot.Plot, each vg.Length, laid func(*plotter.BarChart)) error {
	width := each / vg.Length(len(b.series)+1)
	for i, s := range b.series {
		if len(b.labels) == 0 { // plotter refuses a chart without bars
			break
		}
		values := slices.Clone(s.values)
		for i := range values {
			if b.times {
				values[i] = height(values[i])
			}
		}
		chart, err := plotter.NewBarChart(values, width)
		if err != nil {
			return fmt.Errorf("draw %s: %w", s.name, err)
		}
		chart.Color, chart.LineStyle.Width = palette[i%len(palette)], 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(b.series)-1)/2)
		laid(chart)
		p.Add(chart)
		p.Legend.Add(s.name, chart)
	}
	return nil
}

// scale has the axis of what is measured reach further than its bars.
func (b bars) scale(axis *plot.Axis, further float64) {
	if axis.Max *= further; axis.Max <= 0 {
		axis.Max = 1
	}
	var marks plot.ConstantTicks
	for _, t := range times {
		marks = append(marks, plot.Tick{Value: height(t.seconds), Label: t.label})
	}
	axis.Tick.Marker = marks
	if !b.times {
		axis.Tick.Marker = plot.TickerFunc(numbers)
	}
}

// numbers are the marks of an axis of numbers, which have a separator of thousands.
func numbers(from, to float64) []plot.Tick {
	marks := plot.DefaultTicks{}.Ticks(from, to)
	for i, m := range marks {
		if whole := math.Trunc(m.Value); m.Label != "" && whole == m.Value {
			marks[i].Label = page.Count(int64(whole))
		}
	}
	return marks
}

func (b bars) write(w io.Writer, p *plot.Plot, width, height vg.Length, format string) error {
	image, err := p.WriterTo(width, height, format)
	if err != nil {
		return fmt.Errorf("draw %s: %w", b.title, err)
	}
	var out bytes.Buffer
	if _, err := image.WriteTo(&out); err != nil {
		return err
	}
	_, err = w.Write(bytes.ReplaceAll(out.Bytes(), []byte("font-family:"+typeface), []byte("font-family:"+typeface+", Arial, Helvetica, sans-serif")))
	return err
}

// DrawSimulation draws how long the deposits of users waited, of those with the most
// deposits, in format svg or png.
func DrawSimulation(w io.Writer, c simulate.Comparison, format string) error {
	b := bars{title: "Wait by user", axis: "time, p95", times: true, none: "no users"}
	turns, inOrder := plotter.Values{}, plotter.Values{}
	for _, u := range c.Users[:min(len(c.Users), maxDrawn)] {
		b.labels = append(b.labels, Line(u.Name))
		turns, inOrder = append(turns, u.Fair.P95.Seconds()), append(inOrder, u.FIFO.P95.Seconds())
	}
	b.series = []series{{"in turn", turns}, {"first in, first out", inOrder}}
	return b.draw(w, format)
}
