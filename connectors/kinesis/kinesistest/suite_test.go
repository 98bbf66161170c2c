package kinesistest_test

import (
	"net/http/httptest"
	"os"
	"testing"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest/kinesissuite"
)

func unthrottled(t *testing.T) *kinesistest.Server {
	return kinesistest.NewServer(t, kinesistest.Config{RecordsPerSecond: kinesistest.Unlimited, BytesPerSecond: kinesistest.Unlimited})
}

func TestTheSuitePassesInMemory(t *testing.T) {
	kinesissuite.Exercise(t, inMemory(unthrottled(t)), nil)
}

func TestTheSuitePassesOverASocket(t *testing.T) {
	ts := httptest.NewServer(unthrottled(t))
	t.Cleanup(ts.Close)
	kinesissuite.Exercise(t, kinesissuite.NewClient(ts.URL), nil)
}

// An endpoint of other make, kinesalite above all, shows that the suite asks for Kinesis and not for kinesistest.
func TestTheSuitePassesElsewhere(t *testing.T) {
	url := os.Getenv("SPILLWAY_KINESIS_ENDPOINT")
	if url == "" {
		t.Skip("SPILLWAY_KINESIS_ENDPOINT is not set: give the address of a kinesalite, such as http://127.0.0.1:4567")
	}
	kinesissuite.Exercise(t, kinesissuite.NewClient(url), kinesissuite.Kinesalite())
}
