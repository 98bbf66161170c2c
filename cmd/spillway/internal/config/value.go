package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/pipeline"
)

// enums are the types that have a few values, with their names.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[asyncsink.Order]():      {"unordered", "per_key", "total"},
	reflect.TypeFor[asyncsink.OnRejected](): {"go_on", "divert", "stop"},
	reflect.TypeFor[asyncsink.SyncPolicy](): {"on_checkpoint", "steady"},
	reflect.TypeFor[pipeline.Recover]():     {string(pipeline.FromState), string(pipeline.Replay)},
	reflect.TypeFor[limits.Controller]():    {"aimd", "static"},
	reflect.TypeFor[Format]():               {"text", "json"},
	reflect.TypeFor[Level]():                {"debug", "info", "warn", "error"},
}

// parse reads a text into a value, whatever its type; bound says what the text must be if it is not.
func parse(to reflect.Value, text string) (bound string) {
	if names := enums[to.Type()]; names != nil && !contains(names, text) {
		return "must be " + list(names) + didYouMean(text, names, "")
	}
	if u, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		switch {
		case u.UnmarshalText([]byte(text)) == nil:
			return ""
		case to.Type() == reflect.TypeFor[time.Time]():
			return "must be a time such as 2026-01-02T15:04:05Z"
		}
		return "must be a size such as 64MiB" // enums were checked; sizes are all there is besides
	}
	if to.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return "must be a duration such as 500ms, 30s or 2h"
		}
		to.SetInt(int64(d))
		return ""
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Bool:
		b, ok := map[string]bool{"true": true, "false": false}[text]
		if !ok {
			return "must be true or false"
		}
		to.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, to.Type().Bits())
		if err != nil {
			return "must be a whole number"
		}
		to.SetInt(i)
	case reflect.Uint64:
		u, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return "must be a whole number, 0 or more"
		}
		to.SetUint(u)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "must be a number"
		}
		to.SetFloat(f)
	default:
		panic(fmt.Sprintf("config: a value can't be a %v", to.Type())) // a test declares every type
	}
	return ""
}
