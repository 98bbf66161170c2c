module github.com/spillway-go/spillway/benchmarks

go 1.26.0

replace github.com/spillway-go/spillway => ../

require (
	github.com/spillway-go/spillway v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/time v0.16.0 // indirect
)
