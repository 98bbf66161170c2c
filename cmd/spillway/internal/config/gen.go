package config

//go:generate go run ./gendocs
