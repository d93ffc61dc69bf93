package setting

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/instant"
)

// Dataset says what becomes of the files of a dataset.
type Dataset struct {
	Collection string `json:"collection"`
	Profile    string `json:"profile"` // of that collection; its limits hold for the files
	// GroupPattern is a regular expression of package regexp; what its first parentheses match
	// in the path of a file is its group. "" = files have the group of their discovery.
	GroupPattern string `json:"group_pattern,omitempty"`
	// ByVersion makes size and time of modification part of the identity of a file, so that
	// one that changes at its source is a new one.
	ByVersion bool `json:"by_version,omitempty"`
	// Rules say which files are processed and what they wait for, nil = all, at once.
	Rules *Rules `json:"rules,omitempty"`
}

// Discovery says which open directory is polled for files of a dataset.
type Discovery struct {
	URL     string `json:"url"` // of the directory, with a slash at its end
	Dataset string `json:"dataset"`
	Group   string `json:"group,omitempty"` // of all its files, "" = as GroupBy says
	// GroupBy is a regular expression as [Dataset.GroupPattern] is one, "" = that of the dataset.
	GroupBy string `json:"group_by,omitempty"`
	// Deposit makes a deposit of each complete group of the dataset, nil = none.
	Deposit *GroupDeposit `json:"deposit,omitempty"`
	// EverySeconds is the time from one poll to the next.
	EverySeconds int64 `json:"every_seconds"`
	// Pattern is a glob of package path, of the name of a file, or where it has a slash of
	// its path below the directory; "" = all.
	Pattern   string       `json:"pattern,omitempty"`
	Recursive bool         `json:"recursive,omitempty"`
	NewerThan instant.Time `json:"newer_than,omitzero"` // in UTC, zero = all
	MaxSize   int64        `json:"max_size,omitempty"`  // bytes, 0 = any
	Paused    bool         `json:"paused,omitempty"`
}

const (
	// maxGroup, maxPattern and maxURL bound groups, patterns and URLs, in bytes.
	maxGroup, maxPattern, maxURL = 128, 256, 2048
)

// ShortestInterval is the shortest time between two polls.
const ShortestInterval = time.Second

// LongestInterval is the longest.
const LongestInterval = 7 * 24 * time.Hour

// Check names every fault of a dataset. d may be nil: there is none.
func (d *Dataset) Check() error {
	if d == nil {
		return nil
	}
	var faults []error
	if d.Collection == "" {
		faults = append(faults, errors.New("a dataset belongs to a collection"))
	}
	faults = append(faults, CheckName("profile", d.Profile), d.Rules.Check())
	return errors.Join(append(faults, checkGroupPattern(d.GroupPattern))...)
}

// checkGroupPattern refuses what names no groups. "" is allowed.
func checkGroupPattern(pattern string) error {
	of, err := regexp.Compile(pattern)
	if err == nil && len(pattern) <= maxPattern && (pattern == "" || of.NumSubexp() > 0) {
		return nil
	}
	return fmt.Errorf("%q is no pattern of groups: write a regular expression of at most %d bytes with parentheses around the group, as in ^([0-9]{8})_", pattern, maxPattern)
}

// GroupOf returns the group of a file of the dataset by its path, "" = it has none.
func (d *Dataset) GroupOf(path string) string { return groupOf(d.GroupPattern, path) }

// GroupOf returns the group of a file of the discovery by its path, "" = it has none.
func (d *Discovery) GroupOf(of Dataset, path string) string {
	switch {
	case d.Group != "":
		return d.Group
	case d.GroupBy != "":
		return groupOf(d.GroupBy, path)
	}
	return of.GroupOf(path)
}

func groupOf(pattern, path string) string {
	if pattern == "" {
		return ""
	}
	of, err := regexp.Compile(pattern)
	if err != nil {
		return ""
	}
	found := of.FindStringSubmatch(path)
	if len(found) < 2 || CheckGroup(found[1]) != nil {
		return ""
	}
	return found[1]
}

// CheckGroup refuses what cannot be the name of a group.
func CheckGroup(name string) error {
	if name == "" || len(name) > maxGroup || name == "." || name == ".." || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ':' }) {
		return fmt.Errorf("%q is not the name of a group: use 1 to %d printable ASCII characters without space, slash and colon", name, maxGroup)
	}
	return nil
}

// Check names every fault of a discovery. d may be nil: there is none.
func (d *Discovery) Check() error {
	if d == nil {
		return nil
	}
	faults := []error{checkDirectory(d.URL), CheckName("dataset", d.Dataset)}
	if d.Group != "" {
		faults = append(faults, CheckGroup(d.Group))
	}
	if d.Group != "" && d.GroupBy != "" {
		faults = append(faults, errors.New("a group of all files and a pattern of groups: choose one of the two"))
	}
	faults = append(faults, checkGroupPattern(d.GroupBy), d.Deposit.Check())
	if every := time.Duration(d.EverySeconds) * time.Second; d.EverySeconds > int64(LongestInterval/time.Second) || every < ShortestInterval {
		faults = append(faults, fmt.Errorf("%d seconds between two polls: choose from %v to %v", d.EverySeconds, ShortestInterval, LongestInterval))
	}
	if _, err := path.Match(d.Pattern, ""); err != nil || len(d.Pattern) > maxPattern {
		faults = append(faults, fmt.Errorf("the pattern %q cannot be read: close its brackets, as in *.[ch], and use at most %d bytes", d.Pattern, maxPattern))
	}
	if d.MaxSize < 0 {
		faults = append(faults, errors.New("the largest size is negative: 0 means any"))
	}
	return errors.Join(faults...)
}

// checkDirectory refuses what is no URL of an open directory. It names nothing of a URL that may
// hold a secret.
func checkDirectory(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "s3" || len(text) > maxURL:
		return fmt.Errorf("the URL of a directory is one of http, https or s3 of at most %d bytes, as in https://data.example.org/night/ or s3://bucket/night/", maxURL)
	case u.User != nil:
		return errors.New("the URL has a user or a password: directories are open ones, and what is set is in events; leave it out")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the URL has a query or a fragment, which the URL of a directory does not have: leave it out")
	case !strings.HasSuffix(u.Path, "/"):
		return errors.New("the URL of a directory ends with a slash")
	}
	return nil
}
