package main

import (
	"context"
	"fmt"
	"log/slog"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go/logging"

	"github.com/spillway-go/spillway/connectors/kinesis"
)

// connect makes the client of a stream. The SDK would write to standard error by itself, beside the log and through the status.
func connect(ctx context.Context, c kinesis.Config, log *slog.Logger) (kinesis.API, error) {
	return kinesis.NewClient(ctx, c, func(o *sdk.Options) { o.Logger = sdkLog{log} })
}

// sdkLog is the log as the SDK wants it. What it says is a detail, for debugging: errors come to us as errors as well.
type sdkLog struct{ log *slog.Logger }

func (l sdkLog) Logf(_ logging.Classification, format string, v ...any) {
	l.log.Debug(fmt.Sprintf(format, v...), "from", "aws-sdk")
}
