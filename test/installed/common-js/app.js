// The application that the guide's test requires: it does not listen.
const express = require('express')
const { createReceiver } = require('idv-webhooks')
const { toExpress } = require('idv-webhooks/express')

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })
receiver.on('verification.approved', () => {})
const app = express().post('/webhooks', toExpress(receiver)).use(express.json())
module.exports = { app }
