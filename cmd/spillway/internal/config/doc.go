// Package config reads the configuration of a job: from a file, the environment and the command line.
//
// # One declaration
//
// [Job] and what it is made of are the declaration. Their yaml tags are the names, their types say how a text is read, their
// doc comments are the help, and their Validate methods know the bounds. Everything else is derived by reflection: the keys of
// the file, the flags, the variables, the list in --help. A new value is a new field with a comment, and go generate.
//
// A value has one name. sink.kinesis.writer.held.bytes is
//
//	sink: {kinesis: {writer: {held: {bytes: 64MiB}}}}   in the file
//	SPILLWAY_SINK_KINESIS_WRITER_HELD_BYTES=64MiB       in the environment; empty means not set
//	--sink.kinesis.writer.held.bytes=64MiB              on the command line; also with a space instead of =
//
// and a flag goes before the environment, which goes before the file. A part that is there or not, such as source.stdin, is
// chosen by its name with nothing, {} or true behind it, or by a value below it.
//
// # All faults at once
//
// [Load] reports everything that is wrong in one [Faults], sorted by place. One fault is one line:
//
//	FILE:LINE: FIELD: VALUE: BOUND
//	--FIELD: VALUE: BOUND
//	$SPILLWAY_FIELD: VALUE: BOUND
//
// A value is shown as it was written. That of a field that does not exist is not shown, since it may be a secret; nor is a
// password in a URL.
//
// # YAML
//
// One document, one job. Anchors, aliases and merge keys are refused: what they would save in so small a document is not worth
// what they hide. Numbers are decimal.
package config
