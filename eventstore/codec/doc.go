// Package codec turns events into bytes and back.
//
// [Encode] and [Decode] read and write an event as a message of the log, a CloudEvent
// in binary mode; [MarshalOutbox] and [UnmarshalOutbox] as part of an outbox node;
// [DecodeRaw] leaves the data as JSON, for programs that do not share the Go types.
// Data of older versions is brought up to the newest by [Upcaster]s before the caller
// sees it. [Clean] is all that makes text valid UTF-8 without NUL.
//
// The data of events is encoded by encoding/json from the tags in package domain.
package codec
