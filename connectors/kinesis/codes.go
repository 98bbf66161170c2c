package kinesis

import "github.com/spillway-go/spillway/asyncsink"

// Verdicts that several codes share.
var (
	throttled = verdict{kind: asyncsink.Throttled}
	again     = verdict{kind: asyncsink.Retry}
	unclear   = verdict{kind: asyncsink.Ambiguous}
	expired   = verdict{kind: asyncsink.CredentialExpired}
	tooLarge  = verdict{kind: asyncsink.Rejected}
	invalid   = verdict{asyncsink.Rejected, "the service does not accept a record"}
	denied    = verdict{asyncsink.Fatal, "no permission: allow kinesis:PutRecords and kinesis:DescribeStreamSummary on the " +
		"stream, and check that the credentials are the intended ones"}
	deletedKey = verdict{asyncsink.CredentialExpired, "the service does not know these credentials, or no longer"} // their successors may be there
	unknownKey = verdict{asyncsink.Fatal, "the service does not know these credentials: check AWS_ACCESS_KEY_ID, " +
		"AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile"}
	badSignature = verdict{asyncsink.Fatal, "the signature is wrong: check AWS_SECRET_ACCESS_KEY, the region and this machine's clock"}
	noStream     = verdict{asyncsink.Fatal, "there is no such stream: create it, or check stream, region and the account of the credentials"}
	notKinesis   = verdict{asyncsink.Fatal, "this endpoint does not answer as Kinesis does: check endpoint"}
	encryption   = verdict{asyncsink.Fatal, "the stream's KMS key can't be used: enable it and allow kms:GenerateDataKey on it"}
	stillExpired = verdict{asyncsink.Fatal, "the credentials have expired, and those obtained anew were expired too: " +
		"renew what they come from (environment, profile, role)"}
	subscribe = verdict{asyncsink.Fatal, "the account has no subscription to the service"}
)

// codes judges every error code that the service documents for PutRecords and
// DescribeStreamSummary, the common errors of AWS, and their older spellings. The
// sources are the API reference ("PutRecords", "Common Errors") and types/errors.go of the
// SDK. They are codes of whole requests: entries have fewer, see entryVerdict.
var codes = map[string]verdict{
	// Load.
	"ProvisionedThroughputExceededException": throttled,
	"KMSThrottlingException":                 throttled,
	"LimitExceededException":                 throttled,
	"ThrottlingException":                    throttled,
	"Throttling":                             throttled,
	"ThrottledException":                     throttled,
	"RequestThrottled":                       throttled,
	"RequestThrottledException":              throttled,
	"RequestLimitExceeded":                   throttled,
	"TooManyRequestsException":               throttled,
	"SlowDown":                               throttled,

	// Refused for now, and not stored.
	"ResourceInUseException":        {asyncsink.Retry, "the stream is not active yet"},
	"RequestTimeoutException":       again, // the service could not read the request in time
	"RequestTimeout":                again,
	"MalformedHttpRequestException": again, // damaged on its way
	"RequestExpired":                {asyncsink.Retry, "the request was too long on its way, or this machine's clock is wrong"},

	// Failed inside the service, perhaps after it stored something.
	"InternalFailure":             unclear,
	"InternalFailureException":    unclear,
	"InternalServerError":         unclear,
	"ServiceUnavailable":          unclear,
	"ServiceUnavailableException": unclear,
	"RequestAbortedException":     unclear,

	// What was sent is wrong.
	"ValidationException":                 invalid,
	"ValidationError":                     invalid,
	"InvalidArgumentException":            invalid,
	"RequestEntityTooLargeException":      tooLarge,
	"RequestEntityTooLarge":               tooLarge,
	"SerializationException":              notKinesis,
	"UnknownOperationException":           notKinesis,
	"DryRunOperationException":            notKinesis, // dry runs are never asked for
	"ResourceNotFoundException":           noStream,
	"KMSAccessDeniedException":            encryption,
	"KMSDisabledException":                encryption,
	"KMSInvalidStateException":            encryption,
	"KMSNotFoundException":                encryption,
	"KMSOptInRequired":                    subscribe,
	"OptInRequired":                       subscribe,
	"AccessDeniedException":               denied,
	"AccessDenied":                        denied,
	"NotAuthorized":                       denied,
	"UnauthorizedOperation":               denied,
	"UnrecognizedClientException":         deletedKey,
	"InvalidClientTokenId":                deletedKey,
	"InvalidAccessKeyId":                  deletedKey,
	"MissingAuthenticationToken":          unknownKey,
	"MissingAuthenticationTokenException": unknownKey,
	"InvalidSignatureException":           badSignature,
	"SignatureDoesNotMatch":               badSignature,
	"IncompleteSignature":                 badSignature,
	"IncompleteSignatureException":        badSignature,
	"AuthFailure":                         badSignature,
	"RequestTimeTooSkewed":                badSignature,
	"ExpiredTokenException":               expired,
	"ExpiredToken":                        expired,
	"TokenRefreshRequired":                expired,
}

// entryVerdict judges the code of one entry. The service documents two: load, and
// InternalFailure, which for an entry means that it was not stored.
func entryVerdict(code string) verdict {
	switch v := codes[code]; v.kind {
	case asyncsink.Delivered, asyncsink.Ambiguous: // unknown, or failed inside
		return again
	default:
		return v
	}
}
