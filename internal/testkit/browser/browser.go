// Package browser drives Chromium without windows, for tests of pages: it looks at them in a
// theme and a width, counts what goes wrong on them, and asks axe-core what keeps people from using
// them. deploy/setup/browser.sh unpacks both.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/accession-ingest/accession/internal/testkit/unpacked"
)

// patience is how long a page may take.
const patience = 2 * time.Minute

// Browser is a running browser.
type Browser struct {
	ctx context.Context
	axe string
}

// Start starts a browser, which ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	dir := unpacked.Dir(t, "browser")
	axe, err := os.ReadFile(filepath.Join(dir, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v: deploy/setup/browser.sh bin/browser unpacks it", err)
	}
	libraries, err := filepath.Glob(filepath.Join(dir, "usr/lib/*-linux-gnu*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range libraries {
		libraries = append(libraries, filepath.Join(dir, "pulseaudio"))
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.ExecPath(filepath.Join(dir, "usr/lib/chromium/chromium-headless-shell")), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Env("LD_LIBRARY_PATH="+strings.Join(libraries, ":"), "TZ=America/Bogota"), chromedp.WSURLReadTimeout(patience))
	allocated, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until its processes have ended
		end()
		stop()
		chromedp.FromContext(ctx).Allocator.Wait()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return &Browser{ctx, string(axe)}
}

// Tab is a page of the browser.
type Tab struct {
	t   testing.TB
	of  *Browser
	ctx context.Context

	mu    sync.Mutex
	wrong []string // what was said on the console, or asked of another host
	hosts map[string]bool
}

// Tab opens a tab with cookies of its own.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	return b.open(b.ctx, t, chromedp.WithNewBrowserContext())
}

// Window opens another tab with the same cookies.
func (p *Tab) Window() *Tab {
	p.t.Helper()
	return p.of.open(p.ctx, p.t)
}

func (b *Browser) open(in context.Context, t testing.TB, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	p := &Tab{t: t, of: b, hosts: map[string]bool{}}
	var end context.CancelFunc
	p.ctx, end = chromedp.NewContext(in, append(options, chromedp.WithListener(p.heard))...)
	t.Cleanup(end)
	if err := chromedp.Do(p.ctx); err != nil { // the tab lives as long as this context
		t.Fatalf("a tab does not open: %v", err)
	}
	return p
}

// heard notes what goes wrong.
func (p *Tab) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.wrong = append(p.wrong, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		p.wrong = append(p.wrong, fmt.Sprintf("the page says %s", e.Type))
	case *runtime.EventExceptionThrown:
		p.wrong = append(p.wrong, "uncaught: "+e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Host != "" {
			p.hosts[u.Host] = true
		}
	}
}

// Do carries out actions, which must succeed.
func (p *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("in the browser: %v\n%s", err, strings.Join(p.Wrong(), "\n"))
	}
}

// run carries out an action that returns something.
func run[V any](p *Tab, action chromedp.Action[V]) V {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("in the browser: %v\n%s", err, strings.Join(p.Wrong(), "\n"))
	}
	return v
}

// call sends a command of the browser's protocol.
func call[P any](p *Tab, command cdp.Command[P, cdp.Empty], params P) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// Open goes to an address.
func (p *Tab) Open(address string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(address))
}

// See waits until what a selector names can be seen.
func (p *Tab) See(selector string) {
	p.t.Helper()
	p.Do(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Fill types a text into a field; a carriage return sends its form.
func (p *Tab) Fill(selector, text string) {
	p.t.Helper()
	p.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Click clicks what a selector names.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	p.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Look sets the width in pixels, and whether the theme is dark.
func (p *Tab) Look(width int64, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// Paper has pages shown as they are printed on A4, with a centimetre of margin.
func (p *Tab) Paper(landscape bool) {
	p.t.Helper()
	width, height := int64(718), int64(1047) // 190 and 277 millimetres
	if landscape {
		width, height = height, width
	}
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
}

// WithoutScript has pages shown as a browser does that runs no scripts.
func (p *Tab) WithoutScript() {
	p.t.Helper()
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Eval returns what an expression is on the page; of a promise, what it becomes.
func Eval[V any](p *Tab, expression string) V {
	p.t.Helper()
	return run(p, chromedp.Evaluate[V](expression, chromedp.EvalAwaitPromise))
}

// Text returns the text of the page, as people read it; "" while another page is loaded.
func (p *Tab) Text() string {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	if err != nil {
		return ""
	}
	return text
}

// Choose chooses files in a field.
func (p *Tab) Choose(selector string, files ...string) {
	p.t.Helper()
	p.Do(chromedp.SetUploadFiles(chromedp.CSS(selector), files))
}

// Drop drops files and directories where a selector is, as a hand does.
func (p *Tab) Drop(selector string, files ...string) {
	p.t.Helper()
	at := Eval[[]float64](p, `(() => { const e = document.querySelector(`+strconv.Quote(selector)+`); e.scrollIntoView(); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		call(p, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: at[0], Y: at[1], Data: &input.DragData{Items: []*input.DragDataItem{}, Files: files, DragOperationsMask: 1}})
	}
}

// At returns the path and query of the page; "" while another page is loaded.
func (p *Tab) At() string {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + location.search"))
	if err != nil {
		return ""
	}
	return at
}

// Press types keys, as on a keyboard.
func (p *Tab) Press(keys string) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys))
}

// Wrong returns what went wrong on the pages of the tab, and forgets it.
func (p *Tab) Wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.wrong
	p.wrong = nil
	return all
}

// Sound compares what may go wrong on a page: nothing is wider than it, nothing is said on the
// console, nothing is asked of other hosts than its own, and axe finds nothing. The status of a
// problem is no fault of its page.
func (p *Tab) Sound(about, host string) {
	p.t.Helper()
	if wide := p.overflow(); wide != "" {
		p.t.Errorf("%s is wider than the page: %s", about, wide)
	}
	for _, finding := range p.findings() {
		p.t.Errorf("%s: axe: %s", about, finding)
	}
	for _, wrong := range p.Wrong() {
		if !strings.Contains(wrong, "Failed to load resource: the server responded with a status of 4") {
			p.t.Errorf("%s: %s", about, wrong)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for asked := range p.hosts {
		if asked != host {
			p.t.Errorf("%s: something was asked of %s", about, asked)
		}
	}
}

// overflow returns what is wider than the page, "" = nothing is.
func (p *Tab) overflow() string {
	p.t.Helper()
	return Eval[string](p, `(() => {
		const root = document.documentElement, width = root.clientWidth;
		if (root.scrollWidth <= width) return "";
		const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".rows"));
		return root.scrollWidth + " of " + width + ": " + wide.slice(0, 5).map((e) => e.outerHTML.slice(0, 120)).join(" | ");
	})()`)
}

// unasked are the rules of axe-core that are not asked, each with the reason: all others are, also
// those that it leaves out by itself, as that on the size of targets (WCAG 2.2 AA) and the experimental.
var unasked = map[string]string{
	"color-contrast-enhanced":             "WCAG AAA",
	"identical-links-same-purpose":        "WCAG AAA",
	"meta-refresh-no-exceptions":          "WCAG AAA",
	"aria-roledescription":                "deprecated",
	"audio-caption":                       "deprecated",
	"duplicate-id":                        "deprecated",
	"duplicate-id-active":                 "deprecated",
	"landmark-complementary-is-top-level": "deprecated",
}

// findings returns what axe-core finds on the page.
func (p *Tab) findings() []string {
	p.t.Helper()
	if !Eval[bool](p, "typeof axe === 'object'") {
		Eval[bool](p, p.of.axe+"; true")
	}
	names, err := json.Marshal(slices.Sorted(maps.Keys(unasked)))
	if err != nil {
		p.t.Fatal(err)
	}
	return Eval[[]string](p, `(() => {
		const unasked = `+string(names)+`, rules = axe.getRules().map((r) => r.ruleId), unknown = unasked.filter((name) => !rules.includes(name));
		const asked = Object.fromEntries(rules.map((name) => [name, {enabled: !unasked.includes(name)}]));
		return axe.run(document, {resultTypes: ["violations"], rules: asked}).then((r) => unknown.map((name) => "there is no rule " + name).concat(r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join(" | "))));
	})()`)
}

// Picture returns as PNG what a window shows of the page.
func (p *Tab) Picture() []byte {
	p.t.Helper()
	return run(p, chromedp.CaptureScreenshot())
}
