// Package codec turns events into bytes and back.
//
// [Encode] writes an event as a message of the log, a CloudEvent in structured mode; [Decode]
// reads it, and messages in binary mode, which earlier builds wrote. [MarshalOutbox] and
// [UnmarshalOutbox] write and read the events of an outbox node;
// [DecodeRaw] leaves the data as JSON, for programs that do not share the Go types.
// Data of older versions is brought up to the newest by [Upcaster]s before the caller
// sees it. [Sanitise] is all that makes text valid UTF-8 without NUL.
//
// The data of events is encoded by encoding/json from the tags in package domain. What is
// written or read by hand, for speed, is the same JSON: see the benchmarks of this package.
package codec
