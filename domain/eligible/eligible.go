// Package eligible has the rules by which a downloaded file becomes ready, waits, or is
// skipped. It is pure; what is known of the file, its slot and the files around it comes as
// an argument, and so does the time, which is the log's.
package eligible

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

// Codes of reasons and waits.
const (
	CodeSlotMissing      domain.Code = "slot_missing"
	CodeNameExcluded     domain.Code = "name_excluded"
	CodeSizeExcluded     domain.Code = "size_excluded"
	CodeOutdated         domain.Code = "too_old"
	CodeDuplicateContent domain.Code = "duplicate_content"
	CodeMetadataExcluded domain.Code = "metadata_excluded"
	CodeMetadataMissing  domain.Code = "metadata_missing"
	CodeCompanionMissing domain.Code = "companion_missing"
	CodeFilesMissing     domain.Code = "files_missing"
	CodeStackMissing     domain.Code = "stack_missing"
	CodePredicate        domain.Code = "predicate_false"
)

// File is what the rules know of a file.
type File struct {
	Hash     domain.FileHash
	Path     string
	Size     int64
	SHA256   string
	Modified domain.Time // at its source, zero = not known
	State    domain.FileState
}

// There reports whether a file is DOWNLOADED or further, and not left out.
func (f File) There() bool {
	switch f.State {
	case domain.FileDownloaded, domain.FileReady, domain.FileProcessing, domain.FileProcessed, domain.FileProcessingFailed, domain.FileAbandoned:
		return true
	default:
		return false
	}
}

// Facts are what a decision needs.
type Facts struct {
	File File
	Slot domain.SlotState // SlotNone = its group has none
	// GroupName is the name of its group, "" = it is in none.
	GroupName string
	// Group are the other files of its dataset and group.
	Group []File
	// Before are the files of its dataset that were modified before it, the latest first, as
	// many as the stack has.
	Before []File
	// Same is a file of its dataset that was known before it, is there and has the same
	// content; nil = there is none.
	Same *File
	Now  domain.Time // the log's time
	// Answer is what the predicate of the rules has answered, nil = it was not asked.
	Answer *Answer
}

// Answer is what a predicate says of a file.
type Answer struct {
	Ready bool   `json:"ready"` // it may be processed
	Why   string `json:"why"`   // it may not yet, in words
	// Metadata are values of its metadata by their names, as texts.
	Metadata map[string]string `json:"metadata"`
}

// Wait is one thing that a file waits for.
type Wait struct {
	Code domain.Code `json:"code"`
	For  string      `json:"for"` // as a sentence says it after “it waits for”
}

// Decision is what becomes of a file now: it is skipped if there is a reason, waits if it
// waits for anything, and else is ready.
type Decision struct {
	Skip  *domain.Reason
	Waits []Wait
}

// Ready reports whether the file may be processed, if its content is valid.
func (v Decision) Ready() bool { return v.Skip == nil && len(v.Waits) == 0 }

// Decide returns what becomes of a downloaded file. What leaves it out counts before what
// it waits for.
func Decide(r setting.Rules, f Facts) Decision {
	if why := excluded(r, f); why != nil {
		return Decision{Skip: why}
	}
	switch f.Slot {
	case domain.SlotDone, domain.SlotMissed:
		return Decision{Skip: &domain.Reason{Class: domain.ClassTimeout, Code: domain.CodeSlotClosed, Message: "its slot is " + string(f.Slot)}}
	}
	return Decision{Waits: waits(r, f)}
}

// excluded returns why a file is not processed at all.
func excluded(r setting.Rules, f Facts) *domain.Reason {
	because := func(code domain.Code, format string, args ...any) *domain.Reason {
		return &domain.Reason{Class: domain.ClassContent, Code: code, Message: fmt.Sprintf(format, args...)}
	}
	age := f.Now.Sub(f.File.Modified.Time)
	switch {
	case len(r.Names) > 0 && !slices.ContainsFunc(r.Names, func(glob string) bool { return matches(glob, f.File.Path) }):
		return because(CodeNameExcluded, "its dataset has no files of this name: %s", strings.Join(r.Names, ", "))
	case r.MinSize > 0 && f.File.Size < r.MinSize:
		return because(CodeSizeExcluded, "it has %d bytes, and its dataset takes files of %d or more", f.File.Size, r.MinSize)
	case r.MaxSize > 0 && f.File.Size > r.MaxSize:
		return because(CodeSizeExcluded, "it has %d bytes, and its dataset takes files of %d or less", f.File.Size, r.MaxSize)
	case r.MaxAgeSeconds > 0 && !f.File.Modified.IsZero() && age > time.Duration(r.MaxAgeSeconds)*time.Second:
		return because(CodeOutdated, "it was modified at %s, and its dataset takes files of the last %s", f.File.Modified, time.Duration(r.MaxAgeSeconds)*time.Second)
	case f.Same != nil && !r.KeepDuplicates:
		return because(CodeDuplicateContent, "it has the content of %s, which was known before", f.Same.Path)
	}
	for _, rule := range r.Metadata {
		if is, said := f.value(rule.Name); said && !takes(rule, is) {
			return because(CodeMetadataExcluded, "its %s is %s, and its dataset takes %s", rule.Name, is, taken(rule))
		}
	}
	return nil
}

// value returns what a predicate has said of a value of metadata; false = nothing.
func (f Facts) value(name string) (is string, said bool) {
	if f.Answer == nil {
		return "", false
	}
	is, said = f.Answer.Metadata[name]
	return is, said
}

// takes reports whether a rule takes a value. One that is no number is within no bound.
func takes(rule setting.MetadataRule, is string) bool {
	if len(rule.Values) > 0 && !slices.Contains(rule.Values, is) {
		return false
	}
	if rule.Min == nil && rule.Max == nil {
		return true
	}
	n, err := strconv.ParseFloat(is, 64)
	return err == nil && !math.IsNaN(n) && (rule.Min == nil || n >= *rule.Min) && (rule.Max == nil || n <= *rule.Max)
}

// taken says which values a rule takes.
func taken(rule setting.MetadataRule) string {
	var all []string
	if len(rule.Values) > 0 {
		all = append(all, strings.Join(rule.Values, ", "))
	}
	if rule.Min != nil {
		all = append(all, fmt.Sprintf("%v or more", *rule.Min))
	}
	if rule.Max != nil {
		all = append(all, fmt.Sprintf("%v or less", *rule.Max))
	}
	return strings.Join(all, " and ")
}

// waits returns what a file waits for.
func waits(r setting.Rules, f Facts) (all []Wait) {
	add := func(code domain.Code, format string, args ...any) {
		all = append(all, Wait{code, fmt.Sprintf(format, args...)})
	}
	if f.Slot == domain.SlotPending {
		add(domain.CodeSlotPending, "its slot, which is PENDING")
	}
	if f.Slot == domain.SlotNone && r.Slots != nil {
		add(CodeSlotMissing, "a slot: %s", noSlot(*r.Slots, f.GroupName))
	}
	for _, c := range r.Companions {
		if needs, ok := needed(c, f.File.Path); ok {
			if is, there := found(needs, f.Group); !there {
				add(CodeCompanionMissing, "its companion %s%s", needs, is)
			}
		}
	}
	here := 1 // the file itself
	for _, o := range f.Group {
		if o.There() {
			here++
		}
	}
	if here < r.MinFiles {
		add(CodeFilesMissing, "%d files of its group, of which %d are there", r.MinFiles, here)
	}
	missing := r.Stack
	for _, b := range f.Before[:min(len(f.Before), r.Stack)] {
		if b.There() {
			missing--
		}
	}
	if missing > 0 {
		add(CodeStackMissing, "the %d files before it, of which %d are there", r.Stack, r.Stack-missing)
	}
	switch {
	case r.Predicate == nil || f.Answer != nil && f.Answer.Ready:
	case f.Answer == nil || f.Answer.Why == "":
		add(CodePredicate, "a yes of the predicate of its dataset")
	default:
		add(CodePredicate, "a yes of the predicate of its dataset, which says: %s", f.Answer.Why)
	}
	for _, rule := range r.Metadata {
		if _, said := f.value(rule.Name); !said && f.Answer != nil {
			add(CodeMetadataMissing, "its %s, which the predicate of its dataset does not say", rule.Name)
		}
	}
	return all
}

// noSlot says why the group of a file has no slot, although those of its dataset are made from
// their names.
func noSlot(r setting.SlotRule, group string) string {
	if _, _, err := r.Window(group); err != nil {
		return err.Error()
	}
	return "that of its group is made soon"
}

// needed returns the glob of what a file waits for, by a rule; false = by none. A file that is
// itself such a companion waits for none of them.
func needed(c setting.Companion, file string) (glob string, ok bool) {
	name := path.Base(file)
	stem := strings.TrimSuffix(name, path.Ext(name))
	if c.Of != "" && !matches(c.Of, file) || c.Of == "" && matches(strings.NewReplacer("{name}", "*", "{stem}", "*").Replace(c.Needs), file) {
		return "", false
	}
	return strings.NewReplacer("{name}", escape(name), "{stem}", escape(stem)).Replace(c.Needs), true
}

// escape returns a glob that matches a text.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// found reports whether a file that a glob matches is there; is says how one stands that is
// not.
func found(glob string, in []File) (is string, there bool) {
	for _, f := range in {
		switch {
		case !matches(glob, f.Path):
		case f.There():
			return "", true
		default:
			is = cmp.Or(is, ", which is "+string(f.State))
		}
	}
	return is, false
}

// matches reports whether a glob matches the name of a file, or where it has a slash its path.
func matches(glob, file string) bool {
	if !strings.Contains(glob, "/") {
		file = path.Base(file)
	}
	ok, err := path.Match(glob, file)
	return ok && err == nil
}
