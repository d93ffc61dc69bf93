// Package stepservice has steps of jobs done by services outside: a profile names their URLs,
// and docs/services.md their requests and answers.
//
// A service is sent the storage manifest of a version, the same bytes under the same key
// whenever it is asked, so that it can do the work once. It answers that the work is done, and
// says of which manifest, or where it will say so later. What it answers is a stranger's: it is
// bounded and compared with what was asked for.
package stepservice
