package domain

import "strings"

// FileDiagram draws [FileTransitions] as a Mermaid state diagram.
func FileDiagram() string {
	d := &diagram{}
	for _, t := range FileTransitions {
		d.arrow(string(t.From), string(t.To), t.Row+" "+string(t.Event))
	}
	for _, s := range FileStates {
		if s.Terminal() {
			d.arrow(string(s), "", "")
		}
	}
	return d.String()
}

// FileTable gives [FileTransitions] as a Markdown table.
func FileTable() string {
	var b strings.Builder
	row(&b, "#", "from → to", "event", "who", "when", "attempts", "effect")
	row(&b, "---", "---", "---", "---", "---", "---", "---")
	for _, t := range FileTransitions {
		row(&b, t.Row, from(string(t.From))+" → "+string(t.To), "`"+string(t.Event)+"`", t.By, or(t.Guard, "always"),
			or(string(t.Count), "keep"), or(t.Effect, "–"))
	}
	return b.String()
}
